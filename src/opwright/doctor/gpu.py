"""The GPU, by way of its driver alone: the driver may hang, so it is asked in a process of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple

from opwright.doctor.asking import ask_python
from opwright.doctor.model import Finding, State, note, ok, wrong
from opwright.doctor.pytorch_facts import TorchFacts

_SECONDS = 10.0
_INIT_ERRORS = {100: "it finds no device", 803: "its kernel module has another version", 804: "it doesn't fit this GPU"}
# CUdevice_attribute: COMPUTE_CAPABILITY_MAJOR, _MINOR
_CODE = """
import ctypes, json
def ask():
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        return {"driver": False, "problem": str(error)}
    status = cuda.cuInit(0)
    version = ctypes.c_int()
    cuda.cuDriverGetVersion(ctypes.byref(version))
    facts = {"driver": True, "version": version.value, "status": status, "devices": []}
    count = ctypes.c_int()
    if status == 0 and cuda.cuDeviceGetCount(ctypes.byref(count)) == 0:
        for number in range(count.value):
            name, device = ctypes.create_string_buffer(256), ctypes.c_int()
            memory, major, minor = ctypes.c_size_t(), ctypes.c_int(), ctypes.c_int()
            cuda.cuDeviceGet(ctypes.byref(device), number)
            cuda.cuDeviceGetName(name, 255, device)
            cuda.cuDeviceTotalMem_v2(ctypes.byref(memory), device)
            cuda.cuDeviceGetAttribute(ctypes.byref(major), 75, device)
            cuda.cuDeviceGetAttribute(ctypes.byref(minor), 76, device)
            facts["devices"].append([name.value.decode("utf-8", "replace"), major.value, minor.value, memory.value])
    return facts
print(json.dumps(ask()))
"""


class Gpu(NamedTuple):
    """A device: what it is called, its compute capability, its memory in bytes."""

    name: str
    major: int
    minor: int
    memory: int


class Gpus(NamedTuple):
    """What the driver says.

    Attributes:
        driver: the CUDA version that it speaks, such as ``13.0``; empty without a driver.
        problem: why there is nothing to be had of it; else empty.
        devices: the GPUs that this process would see.
    """

    driver: str = ""
    problem: str = ""
    devices: tuple[Gpu, ...] = ()


def find_gpus() -> Gpus:
    """Ask the driver."""
    answer = ask_python(_CODE, seconds=_SECONDS)
    try:
        facts = json.loads(answer.text.splitlines()[-1]) if answer.status == 0 else None
    except (ValueError, IndexError):
        facts = None
    if not isinstance(facts, dict):
        return Gpus("?", f"the driver (libcuda.so.1) doesn't work: {answer.why}")
    if not facts["driver"]:
        return Gpus()
    version, status = facts["version"], facts["status"]
    driver = f"{version // 1000}.{version % 1000 // 10}"
    if status:
        return Gpus(driver, f"the driver can't start: {_INIT_ERRORS.get(status, 'CUDA error')} ({status})")
    return Gpus(driver, "", tuple(Gpu(*device) for device in facts["devices"]))


def examine(gpus: Gpus, torch: TorchFacts) -> Iterator[Finding]:
    """Is there one, and can this PyTorch use it?"""
    if not gpus.driver:
        yield note("driver", "none (no libcuda.so.1): there is no GPU of NVIDIA's here; nothing on the CPU needs one")
        return
    if gpus.problem:
        state: State = "wrong" if torch.cuda and "no device" not in gpus.problem else "note"
        yield Finding("driver", state, gpus.problem, "update the driver, and restart; in a container, pass the GPU on")
        return
    yield ok("driver", f"for CUDA {gpus.driver}")
    if torch.cuda and _numbers(torch.cuda)[0] > _numbers(gpus.driver)[0]:
        yield wrong(
            "driver against PyTorch",
            f"the driver speaks CUDA {gpus.driver}, but PyTorch was built with {torch.cuda}",
            f"update the driver, or install a PyTorch for CUDA {gpus.driver}",
        )
    for gpu in gpus.devices:
        yield from _device(gpu, torch)
    if not gpus.devices:
        yield note("devices", "none is visible", "see CUDA_VISIBLE_DEVICES")


def _device(gpu: Gpu, torch: TorchFacts) -> Iterator[Finding]:
    capability = f"{gpu.major}.{gpu.minor}"
    yield ok("device", f"{gpu.name}, compute capability {capability}, {gpu.memory / (1 << 30):.0f} GiB")
    if torch.missing or torch.problem or torch.hip:
        return
    if not torch.cuda:
        yield note("device", "this PyTorch is a build for the CPU", "choose one for CUDA on pytorch.org to use the GPU")
    elif torch.architectures and not any(_serves(name, gpu) for name in torch.architectures):
        yield wrong(
            "device",
            f"PyTorch has no code for {gpu.name} ({capability}), only for {', '.join(torch.architectures)}",
            "install a PyTorch that has, see pytorch.org; or hide it: CUDA_VISIBLE_DEVICES=",
        )


def _serves(name: str, gpu: Gpu) -> bool:
    """Whether code such as ``sm_86`` runs there, or PTX such as ``compute_86`` is translated for it."""
    kind, _, digits = name.partition("_")
    number = int("".join(letter for letter in digits if letter.isdigit()) or 0)
    is_older = number <= 10 * gpu.major + gpu.minor
    return is_older and (kind == "compute" or number // 10 == gpu.major)


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".") if part.isdigit()] or [0]
