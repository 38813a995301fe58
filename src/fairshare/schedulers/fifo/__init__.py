"""Owns the FIFO baseline; knows nothing of queues' shares or of the other schedulers."""
