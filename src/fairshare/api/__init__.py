"""The records of the REST interface `/api/v1`: one struct for each request and each answer.

The server fills and encodes these structs, the clients decode into them, and the OpenAPI document
is generated from them.

Answers have a default for each field that a client can do without, so that it understands a server
of another release. Amounts of resources are named on the wire and vectors within a server: records
that exist in both forms have a generic base class, whose parameter is the type of an amount.
"""
