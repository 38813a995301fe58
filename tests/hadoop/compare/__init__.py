"""The same calls to a real ResourceManager and to ours, compared field by field."""
