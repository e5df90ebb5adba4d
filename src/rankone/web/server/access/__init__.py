"""Who may come in: tokens, other sites, and the certificate."""
