"""What YARN's REST interface asks each family, and the structures with which families answer."""
