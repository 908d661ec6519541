"""The machine of a measurement: processor, GPU, versions, and conditions that change over time."""

from __future__ import annotations

import contextlib
import os
import platform
import re
from pathlib import Path

from opwright._version import __version__
from opwright.errors import ToolchainError
from opwright.toolchain import find_compiler


def machine() -> dict[str, str]:
    """Return processor, cores, system and versions: the facts that measured times depend on."""
    facts = {
        "cpu": _cpu(),
        "cores": str(os.cpu_count()),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "compiler": _compiler(),
        "opwright": __version__,
    }
    try:
        import torch
    except ModuleNotFoundError:
        return facts
    return {**facts, "torch": torch.__version__, **(_gpu() if torch.cuda.is_available() else {})}


def _compiler() -> str:
    try:
        return str(find_compiler("c++"))
    except ToolchainError:  # all that is measured may be in the cache
        return "none"


def _gpu() -> dict[str, str]:
    """Return the first GPU, the number of GPUs, the driver, and the CUDA versions of PyTorch and of the compilers."""
    import torch

    from opwright.cuda.nvrtc.discovery import find_nvrtc
    from opwright.toolchain.compilers.nvcc import find_nvcc

    card = torch.cuda.get_device_properties(0)
    facts = {
        "gpu": f"{card.name}, {card.total_memory >> 20} MiB, compute capability {card.major}.{card.minor}",
        "gpus": str(torch.cuda.device_count()),
        "driver": _driver(),
        "torch's CUDA": str(torch.version.cuda),
    }
    with contextlib.suppress(ToolchainError):
        facts["nvcc"] = str(find_nvcc())
    with contextlib.suppress(ToolchainError):
        facts["nvrtc"] = os.path.basename(find_nvrtc().library)
    return facts


def _driver() -> str:
    """Return the driver's version, as reported by its kernel module."""
    try:
        text = Path("/proc/driver/nvidia/version").read_text()
    except OSError:
        return "unknown"
    version = re.search(r"\d+\.\d+(\.\d+)?", text)
    return version.group() if version else "unknown"


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    facts = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    name = facts.get("model name") or facts.get("CPU part") or platform.machine()
    return f"{name} (family {facts['cpu family']}, model {facts['model']})" if "cpu family" in facts else name


def conditions() -> dict[str, str]:
    """Return further facts that measured times depend on, including those that change over time."""
    import torch

    facts = {
        "governor": _governor(),
        "load average": " ".join(f"{each:.2f}" for each in os.getloadavg()),
        "threads": f"{torch.get_num_threads()} (of {os.cpu_count()} cores)",
        "torch build": _build(torch.__config__.show()),
        "CPU capability": torch.backends.cpu.get_cpu_capability(),
    }
    variables = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OMP_PROC_BIND", "GOMP_CPU_AFFINITY", "KMP_AFFINITY")
    return facts | {name: os.environ[name] for name in variables if name in os.environ}


def _governor() -> str:
    """Return the CPU's frequency governor."""
    try:
        return Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").read_text().strip()
    except OSError:
        return "unknown"


def _build(text: str) -> str:
    """Return the compiler, flags and libraries of PyTorch's build that affect its speed."""
    compiler = re.search(r"(GCC|Clang|clang) [\d.]+", text)
    settings = dict(re.findall(r"(BLAS_INFO|USE_MKL|USE_MKLDNN|USE_OPENMP|LAPACK_INFO)=(\w+)", text))
    parts = [compiler.group()] if compiler else []
    return ", ".join([*parts, *(f"{name}={value}" for name, value in settings.items())])
