"""Who may come in: tokens, and pages of other sites."""
