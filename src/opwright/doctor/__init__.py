"""What this machine has for building and running operators: looked at, judged, and told.

``examine()`` compiles nothing but an empty file, builds nothing, and ends in a few seconds whatever is broken: programs
have a time limit, PyTorch and the GPU's driver are asked in processes of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from opwright.doctor.asking import Later, Once
from opwright.doctor.model import Finding, Report, Section, State, wrong

__all__ = ["SECTIONS", "Finding", "Report", "Section", "State", "examine"]

SECTIONS = (
    "system", "compilers", "cache", "torch", "runtime", "cuda", "gpu", "architectures", "environment", "ninja",
    "packages",
)  # fmt: skip
"""The parts of an examination, in the order of the report."""

_PATIENCE = 90.0


def examine(only: Collection[str] = ()) -> Report:
    """Look at this machine.

    Args:
        only: names from `SECTIONS`; all of them by default.
    """
    wanted = [name for name in SECTIONS if not only or name in only]
    examinations = _examinations()
    running = {name: Later(lambda find=examinations[name]: tuple(find())) for name in wanted}  # type: ignore[misc]
    return Report(tuple(Section(name, _settled(name, later)) for name, later in running.items()))


def _examinations() -> dict[str, Callable[[], Iterable[Finding]]]:
    """How each section is made. What several of them need is found out once, in the meantime."""
    from opwright.doctor import architectures, cache, compilers, cuda, environment, gpu, pytorch, tools
    from opwright.doctor.cuda_facts import find_toolkit
    from opwright.doctor.pytorch_facts import torch_facts

    torch, toolkit, gpus = Once(torch_facts), Once(find_toolkit), Once(gpu.find_gpus)
    return {
        "system": tools.system,
        "compilers": compilers.examine,
        "cache": cache.examine,
        "torch": lambda: pytorch.examine(torch.get()),
        "runtime": lambda: tools.runtime(torch.get()),
        "cuda": lambda: cuda.examine(toolkit.get(), torch.get()),
        "gpu": lambda: gpu.examine(gpus.get(), torch.get()),
        "architectures": lambda: architectures.examine(toolkit.get(), gpus.get().devices),
        "environment": environment.examine,
        "ninja": tools.ninja,
        "packages": tools.packages,
    }


def _settled(name: str, later: Later[tuple[Finding, ...]]) -> tuple[Finding, ...]:
    try:
        return later.get(_PATIENCE)
    except TimeoutError as error:
        return (wrong(name, f"the examination doesn't end: {error}", "a disk or a server may not answer: see `mount`"),)
    except Exception as error:  # noqa: BLE001 - a report with a hole is better than none
        return (wrong(name, f"the examination itself failed: {type(error).__name__}: {error}", "report this, please"),)
