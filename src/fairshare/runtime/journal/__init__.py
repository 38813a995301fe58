"""Owns the durable record of inputs and events; does not know their meaning."""
