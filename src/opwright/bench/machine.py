"""What a measurement was made on."""

from __future__ import annotations

import os
import platform
from pathlib import Path

from opwright._version import __version__
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
    return {**facts, "torch": torch.__version__}


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    facts = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    name = facts.get("model name") or facts.get("CPU part") or platform.machine()
    return f"{name} (family {facts['cpu family']}, model {facts['model']})" if "cpu family" in facts else name
