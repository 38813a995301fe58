"""What a conversion does to a workload: both configurations, simulated and compared."""
