"""Commands on live experiments."""
