"""Commands on the service and its database."""
