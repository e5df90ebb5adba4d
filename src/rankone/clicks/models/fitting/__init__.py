"""How click models are fitted, and how sure that is."""
