"""The packages of operators in a wheel: are they whole, and what do they have kernels for?"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from typing import Any

from opwright.codegen.parts import DESCRIPTION, FORMAT
from opwright.doctor.model import Finding
from opwright.packaging.audit.wheel import Wheel
from opwright.signature.wiring import BACKWARD
from opwright.toolchain.variants import DEFAULT


def packages(wheel: Wheel) -> Iterator[Finding]:
    """Each package of operators."""
    if not wheel.packages:
        yield Finding("packages", "note", f"there are none: no {DESCRIPTION} of Opwright's")
    for folder, facts in wheel.packages.items():
        if isinstance(facts, str):
            yield Finding(folder, "wrong", f"{DESCRIPTION} can't be read: {facts}", "build the wheel again")
        elif facts["format"] > FORMAT:  # what isn't judged hasn't passed
            text = f"a newer Opwright built it (format {facts['format']}): this one can't judge it"
            yield Finding(folder, "wrong", text, "pip install --upgrade opwright")
        else:
            yield from _package(wheel, folder, facts)
    if any(isinstance(facts, Mapping) for facts in wheel.packages.values()):
        yield from _requires(wheel)


def _package(wheel: Wheel, folder: str, facts: Mapping[str, Any]) -> Iterator[Finding]:
    if "project" in facts:
        text = f"it compiles the sources in {facts['project']} when it is used: an editable installation's"
        yield Finding(folder, "wrong", text, "pip wheel . builds one that can be shipped")
        return
    libraries: Mapping[str, Mapping[str, str]] = facts.get("libraries", {})
    files = [name for each in libraries.values() for name in each.values()]
    for name in files:
        if f"{folder}/{name}" not in wheel.names:
            yield Finding(folder, "wrong", f"{name} isn't in the wheel", "build the wheel again")
    for part, each in libraries.items():
        if DEFAULT not in each:
            text = f"{part} has no build for every processor, only {', '.join(each)}"
            yield Finding(folder, "wrong", text, "build the wheel again")
    kernels: Mapping[str, Mapping[str, str]] = facts.get("kernels", {})
    listed = ", ".join(
        f"{name} ({'+'.join(devices)})" for name, devices in kernels.items() if _is_public(name, kernels)
    )
    types = facts.get("dtypes")
    variants = sorted({variant for each in libraries.values() for variant in each})
    yield Finding(
        folder,
        "ok",
        f"{listed}; {'all element types' if types is None else ', '.join(types)}; for {', '.join(variants)} processors",
    )


def _is_public(name: str, kernels: Container[str]) -> bool:
    return not name.startswith("_") and not (name.endswith(BACKWARD) and name.removesuffix(BACKWARD) in kernels)


def _requires(wheel: Wheel) -> Iterator[Finding]:
    """Whether pip brings what they are imported with."""
    names = {requirement.name.lower().replace("_", "-"): requirement for requirement in wheel.requirements}
    if "opwright" not in names:
        fix = '[project] dependencies = ["opwright[torch]"]'
        yield Finding("requirements", "wrong", "it doesn't require opwright, which imports its operators", fix)
    elif "torch" not in names and "torch" not in names["opwright"].extras:
        fix = '"opwright[torch]", if pip is to install it'
        yield Finding("requirements", "note", "it requires opwright; PyTorch has to be there without it", fix)
    else:
        listed = ", ".join(str(requirement) for requirement in wheel.requirements)
        yield Finding("requirements", "ok", listed)
