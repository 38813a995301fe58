"""The lifecycle of applications: admission, attempts, tasks."""
