"""Bodies of requests and answers; the OpenAPI document is made of these."""
