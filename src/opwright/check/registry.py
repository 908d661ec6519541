"""The checks there are. Each is a function in a file of :mod:`opwright.check.checks`, known by name."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from opwright.check.context import Context
    from opwright.check.report import Finding

Level = Literal["quick", "normal", "thorough"]
LEVELS: tuple[Level, ...] = ("quick", "normal", "thorough")

Body = Callable[["Context"], "Iterator[Finding]"]

# What runs in processes of its own comes first: what it finds may be what would damage this one. Then what is about the
# first calls.
_MODULES = (
    "sanitized",
    "history",
    "bad_calls",
    "values",
    "devices",
    "scalars",
    "far",
    "distribution",
    "memory",
    "gradients",
    "large_gradients",
    "same_backwards",
    "estimates",
    "pytorch",
    "vmap",
    "transforms",
    "emulated",
)
_CHECKS: dict[str, Check] = {}


class Skipped(Exception):  # noqa: N818 - no error
    """Raised by a check that doesn't apply, or can't be done; its text says why."""


@dataclass(frozen=True)
class Check:
    """A check.

    Attributes:
        name: as it is shown, and asked for.
        group: what it belongs to: all checks of a group can be asked for together.
        level: the quickest run that it is part of.
        body: yields what is wrong; raises `Skipped`.
        share: how much of a run's time it may take, beside other checks' shares.
        asked: whether it only runs where it, or its group, is asked for by name.
        apart: whether it calls the operator in another process alone.
    """

    name: str
    group: str
    level: Level
    body: Body
    share: float
    asked: bool
    apart: bool


def register(
    name: str, *, group: str, level: Level = "quick", share: float = 1.0, asked: bool = False, apart: bool = False
) -> Callable[[Body], Body]:
    """Make a function a check; see `Check`."""

    def add(body: Body) -> Body:
        _CHECKS[name] = Check(name, group, level, body, share, asked, apart)
        return body

    return add


def all_checks() -> dict[str, Check]:
    """Every check by name, in the order in which they run."""
    for module in _MODULES:
        importlib.import_module(f"opwright.check.checks.{module}")
    return dict(sorted(_CHECKS.items(), key=lambda item: _place(item[1])))


def _place(check: Check) -> int:
    """Whoever imported a check's module before hasn't changed when it runs; others' checks come last."""
    module = check.body.__module__.rpartition(".")[2]
    return _MODULES.index(module) if module in _MODULES else len(_MODULES)


def chosen(
    level: Level, only: tuple[str, ...] = (), skip: tuple[str, ...] = (), also: tuple[str, ...] = ()
) -> list[Check]:
    """The checks of a run.

    Args:
        level: how thorough it is.
        only: names of checks or groups; none: all that the level has.
        skip: names of checks or groups to leave out.
        also: names of checks to add, whatever the level.

    Raises:
        ValueError: there is no such check or group.
    """
    known = all_checks()
    names = known.keys() | {check.group for check in known.values()}
    if unknown := [name for name in (*only, *skip) if name not in names]:
        raise ValueError(f"there is no check {unknown[0]!r}; there are {', '.join(sorted(names))}")
    return [
        check
        for check in known.values()
        if not {check.name, check.group} & set(skip) and (check.name in also or _belongs(check, level, only))
    ]


def _belongs(check: Check, level: Level, only: tuple[str, ...]) -> bool:
    if only:
        return bool({check.name, check.group} & set(only))
    return not check.asked and LEVELS.index(check.level) <= LEVELS.index(level)
