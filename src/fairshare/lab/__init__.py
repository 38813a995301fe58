"""What is tried without a cluster: the simulator, traces, scenarios, plans, conversion, and the
test cluster, with their verbs."""
