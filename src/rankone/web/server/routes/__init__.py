"""What the service can do: the table of operations, its OpenAPI document, and the routes."""
