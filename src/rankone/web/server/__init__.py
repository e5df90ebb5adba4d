"""The service: requests in, answers out."""
