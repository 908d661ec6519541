"""``opwright audit``: what a wheel needs, and what would stop it from loading where."""

from __future__ import annotations

from pathlib import Path

from opwright.doctor.model import Report, Section
from opwright.packaging.audit import libraries, operators, targets
from opwright.packaging.audit.targets import Target
from opwright.packaging.audit.wheel import read

__all__ = ["Target", "audit"]


def audit(path: Path, target: Target | None = None) -> Report:
    """What is found in the wheel at `path`: ``wrong`` is what its tags and requirements promise and it doesn't keep.

    Args:
        path: the wheel.
        target: a machine on which it is to be loaded; what stops it there is wrong, too.

    Raises:
        PackagingError: it is no wheel.
    """
    wheel = read(path)
    sections = [
        Section("platform", tuple(libraries.platform(wheel))),
        Section("operators", tuple(operators.packages(wheel))),
        Section("libraries", tuple(libraries.contents(wheel))),
        Section("GPUs", tuple(targets.gpus(wheel))),
    ]
    if target is not None:
        sections.append(Section("there", tuple(targets.there(wheel, target))))
    return Report(tuple(sections))
