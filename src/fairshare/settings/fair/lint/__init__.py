"""What is legal in a configuration and hardly meant. Knows files and settings, no cluster."""
