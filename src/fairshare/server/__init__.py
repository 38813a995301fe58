"""The running service, its only writer and its views; knows nothing of HTTP or pages."""
