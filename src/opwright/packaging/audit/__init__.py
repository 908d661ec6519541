"""``opwright audit``: a wheel's requirements, and the machines on which it can't be loaded."""

from __future__ import annotations

from pathlib import Path

from opwright.doctor.findings import Report, Section
from opwright.packaging.audit import checks
from opwright.packaging.audit.checks import Target
from opwright.packaging.audit.wheel import read

__all__ = ["Target", "audit"]


def audit(path: Path, target: Target | None = None) -> Report:
    """Audit the wheel at `path`; findings are ``wrong`` if they contradict its tags and requirements.

    Args:
        path: the wheel.
        target: a machine on which it should load; findings that prevent this are ``wrong``, too.

    Raises:
        PackagingError: the file isn't a wheel.
    """
    wheel = read(path)
    sections = [
        Section("platform", tuple(checks.platform(wheel))),
        Section("operators", tuple(checks.packages(wheel))),
        Section("libraries", tuple(checks.contents(wheel))),
        Section("GPUs", tuple(checks.gpus(wheel))),
    ]
    if target is not None:
        sections.append(Section("there", tuple(checks.target_findings(wheel, target))))
    return Report(tuple(sections))
