"""Owns the FIFO baseline. Knows neither shares of queues nor the other schedulers."""
