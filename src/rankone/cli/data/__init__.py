"""Commands on data you have."""
