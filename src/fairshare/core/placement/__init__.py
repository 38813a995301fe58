"""The placement rules, which choose an application's queue."""
