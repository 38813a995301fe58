"""The GPUs of this machine: their names, the containers that have them, and their usage.

    found        the devices, by the vendor's files in /proc, /sys and /dev, and nvidia-smi
    chosen       which of them are offered, and as which resource type of which node
    fence        whether the kernel keeps a container from the devices of others
    engine       these parts, put together for an engine: which container has which device, and the
                 memory and utilization of each, sampled in a thread

No library of a vendor is needed. This module imports nothing: supervisors are to stay small.
"""
