"""YARN's Capacity Scheduler: guaranteed capacities, limits for users, priorities."""
