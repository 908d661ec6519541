"""What tests of the doctor look for in what it finds."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from opwright.doctor import Finding
from opwright.doctor.pytorch import TorchFacts

Found = dict[str, list[Finding]]
Look = Callable[..., Found]

TORCH = TorchFacts(version="2.13.0", file="/somewhere/torch/__init__.py")
CUDA_TORCH = TORCH._replace(cuda="13.0", architectures=("sm_80", "sm_90"))


def the(found: Found, topic: str) -> Finding:
    assert topic in found, f"nothing of {topic}: {list(found)}"
    return found[topic][0]


def wrong(found: Found) -> list[Finding]:
    return [finding for findings in found.values() for finding in findings if finding.state == "wrong"]


def only(findings: Iterable[Finding], topic: str) -> Finding:
    (found,) = [finding for finding in findings if finding.topic == topic]
    return found
