"""What a measurement was made on."""

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
    """Processor, cores, system and the versions of everything that a figure depends on."""
    facts = {
        "cpu": _cpu(),
        "cores": str(os.cpu_count()),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "compiler": str(find_compiler("c++")),
        "opwright": __version__,
    }
    try:
        import torch
    except ModuleNotFoundError:
        return facts
    return {**facts, "torch": torch.__version__, **(_gpu() if torch.cuda.is_available() else {})}


def _gpu() -> dict[str, str]:
    """The first card, how many there are, the driver, and the CUDA versions of PyTorch and of what compiles."""
    import torch

    from opwright.cuda.nvrtc.discovery import find_nvrtc
    from opwright.toolchain.nvcc import find_nvcc

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
    """The driver's version, as the kernel module has it."""
    try:
        text = Path("/proc/driver/nvidia/version").read_text()
    except OSError:
        return "unknown"
    found = re.search(r"\d+\.\d+(\.\d+)?", text)
    return found.group() if found else "unknown"


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    facts = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    name = facts.get("model name") or facts.get("CPU part") or platform.machine()
    return f"{name} (family {facts['cpu family']}, model {facts['model']})" if "cpu family" in facts else name


def conditions() -> dict[str, str]:
    """What else a figure depends on, and what changes while the machine runs."""
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
    """What decides the clock's frequency."""
    try:
        return Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").read_text().strip()
    except OSError:
        return "unknown"


def _build(text: str) -> str:
    """The compiler, the flags and the libraries of PyTorch's build that decide how fast it is."""
    compiler = re.search(r"(GCC|Clang|clang) [\d.]+", text)
    settings = dict(re.findall(r"(BLAS_INFO|USE_MKL|USE_MKLDNN|USE_OPENMP|LAPACK_INFO)=(\w+)", text))
    words = [compiler.group()] if compiler else []
    return ", ".join([*words, *(f"{name}={value}" for name, value in settings.items())])
