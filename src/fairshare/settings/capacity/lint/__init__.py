"""What is legal for the Capacity Scheduler and hardly meant. Knows settings, no cluster."""
