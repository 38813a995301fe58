"""Owns the environment variables that name a container its GPUs. Starts nothing."""

from collections.abc import Sequence

from fairshare.engines.local.gpus.found import AMD, NVIDIA

ASSIGNED = "FAIRSHARE_GPUS"

_NOTHING = {
    ASSIGNED: "",
    "CUDA_VISIBLE_DEVICES": "",
    "NVIDIA_VISIBLE_DEVICES": "void",
    "ROCR_VISIBLE_DEVICES": "",
    "HIP_VISIBLE_DEVICES": "-1",
}


def variables(gpus: Sequence[str], vendor: str) -> dict[str, str]:
    """The variables of a container with these GPUs; without any they hide all GPUs.

    CUDA's indexes are those of the PCI bus, as nvidia-smi's. Of ROCm's variables
    ROCR_VISIBLE_DEVICES comes first: the others count what it leaves.

    >>> variables(("2", "3"), "nvidia")["CUDA_VISIBLE_DEVICES"]
    '2,3'
    """
    if not gpus:
        return dict(_NOTHING)
    names = ",".join(gpus)
    places = ",".join(str(place) for place in range(len(gpus)))
    cuda = {"CUDA_VISIBLE_DEVICES": names, "NVIDIA_VISIBLE_DEVICES": names}
    order = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    rocm = {"ROCR_VISIBLE_DEVICES": names, "HIP_VISIBLE_DEVICES": places}
    if vendor == NVIDIA:
        return {**_NOTHING, ASSIGNED: names, **cuda, **order}
    if vendor == AMD:
        return {**_NOTHING, ASSIGNED: names, **rocm, "CUDA_VISIBLE_DEVICES": places}
    return {ASSIGNED: names, **cuda, **order, **rocm}
