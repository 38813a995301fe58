"""The OpenAPI 3.1 description of our REST interface, generated from the types."""
