"""How fast the simulator is, beside AccaSim: `python -m benchmarks.simulation`."""
