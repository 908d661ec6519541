"""Examination of a machine's equipment for building and running operators (``opwright doctor``).

``examine()`` compiles only tiny files, and ends within seconds on a working machine. If something hangs, it still ends:
programs and sections have time limits, and PyTorch and the GPU's driver are loaded in child processes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from concurrent.futures import Future, TimeoutError  # noqa: A004 - Python 3.10 has two of that name

from opwright.doctor.findings import Finding, Report, Section, State, wrong
from opwright.doctor.subprocesses import in_background, once

__all__ = ["SECTIONS", "Finding", "Report", "Section", "State", "examine"]

SECTIONS = (
    "system", "compilers", "cache", "torch", "runtime", "cuda", "gpu", "architectures", "environment", "ninja",
    "packages",
)  # fmt: skip
"""The sections of an examination, in the order of the report."""

_TIMEOUT = 90.0


def examine(only: Collection[str] = ()) -> Report:
    """Examine this machine.

    Args:
        only: names from `SECTIONS`; all of them by default.
    """
    examinations = _examinations()
    wanted = [name for name in SECTIONS if not only or name in only]
    running = {name: in_background(lambda find=examinations[name]: tuple(find())) for name in wanted}  # type: ignore[misc]
    return Report(tuple(Section(name, _result(name, future)) for name, future in running.items()))


def _examinations() -> dict[str, Callable[[], Iterable[Finding]]]:
    """Return the function for each section. Facts that several sections need are collected once."""
    from opwright.doctor import compilers, cuda, environment, pytorch, system

    torch, toolkit, gpus = once(pytorch.torch_facts), once(cuda.find_toolkit), once(cuda.find_gpus)
    return {
        "system": system.examine_system,
        "compilers": compilers.examine_compilers,
        "cache": system.examine_cache,
        "torch": lambda: pytorch.examine_pytorch(torch()),
        "runtime": lambda: pytorch.examine_runtime(torch()),
        "cuda": lambda: cuda.examine_toolkit(toolkit(), torch()),
        "gpu": lambda: cuda.examine_gpus(gpus(), torch()),
        "architectures": lambda: cuda.examine_architectures(toolkit(), gpus().devices),
        "environment": environment.examine_environment,
        "ninja": system.examine_ninja,
        "packages": system.examine_packages,
    }


def _result(name: str, findings: Future[tuple[Finding, ...]]) -> tuple[Finding, ...]:
    try:
        return findings.result(_TIMEOUT)
    except TimeoutError:
        text = f"the examination doesn't end: no answer within {_TIMEOUT:g} seconds"
        return (wrong(name, text, "a disk or a server may not answer: see `mount`"),)
    except Exception as error:  # noqa: BLE001 - an incomplete report is better than none
        return (wrong(name, f"the examination itself failed: {type(error).__name__}: {error}", "report this, please"),)
