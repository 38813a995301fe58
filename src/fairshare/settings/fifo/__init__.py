"""The FIFO scheduler of Hadoop YARN: its family and the modules that belong to it."""
