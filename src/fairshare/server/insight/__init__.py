"""Explanations of the scheduler's behaviour; does not know how they are displayed."""
