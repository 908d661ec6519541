"""Whose reference a reference is, where a file has several operators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from opwright.check.subject import Reference, Subject
from opwright.errors import SourceError


def assigned(found: Sequence[Subject], reference: Reference | None, called: str, where: str) -> list[Subject]:
    """The operators, one of them with its reference: the only one, or the one that has the reference's name.

    Args:
        found: the operators.
        reference: a function that is known to be right.
        called: its name, perhaps with dots before it.
        where: what the operators were found in.

    Raises:
        SourceError: there are several, and none has its name.
    """
    if reference is None:
        return list(found)
    name = called.rpartition(".")[2]
    own = [subject.name for subject in found if subject.name == name] if len(found) > 1 else [s.name for s in found]
    if found and not own:
        listed = ", ".join(subject.name for subject in found)
        raise SourceError(
            f"{where} has {len(found)} operators, {listed}; the reference {name!r} has the name of none of them\n"
            f"  likely fix: check one of them, {where}:{found[0].name}, or give the reference its operator's name"
        )
    return [replace(subject, reference=reference) if subject.name in own else subject for subject in found]
