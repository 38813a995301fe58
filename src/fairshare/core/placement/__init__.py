"""Owns the placement rules, which choose an application's queue. Knows neither nodes nor
containers."""
