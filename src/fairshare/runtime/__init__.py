"""The clock, the driver and the orders."""
