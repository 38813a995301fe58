"""Owns the clock, the driver and the orders; knows nothing of the web or of the simulator."""
