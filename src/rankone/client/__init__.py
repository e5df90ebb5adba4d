"""The client of a service: experiments over HTTP, with the standard library alone."""
