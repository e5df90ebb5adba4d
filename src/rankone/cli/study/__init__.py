"""Commands for simulated studies."""
