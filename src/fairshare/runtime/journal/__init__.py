"""The durable record of inputs and events."""
