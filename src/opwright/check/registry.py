"""Registry of checks, by name: each is a function in a file of :mod:`opwright.check.checks`."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from opwright.check.context import Context
from opwright.check.report import LEVELS, Finding, Level

Body = Callable[[Context], Iterator[Finding]]

_CHECKS: dict[str, Check] = {}


@dataclass(frozen=True)
class Check:
    """A check.

    Attributes:
        name: the name that is displayed and used for selection.
        group: its group; all checks of a group can be selected together.
        level: the quickest run that includes it.
        body: yields findings; raises `Skipped`.
        share: its share of a run's time, relative to other checks' shares.
        on_request: whether it runs only if the check or its group is selected by name.
        in_child: whether it calls the operator in child processes only.
        asks_reference: whether it calls the reference.
    """

    name: str
    group: str
    level: Level
    body: Body
    share: float
    on_request: bool
    in_child: bool
    asks_reference: bool = False


def register(
    name: str,
    *,
    group: str,
    level: Level = "quick",
    share: float = 1.0,
    on_request: bool = False,
    in_child: bool = False,
    asks_reference: bool = False,
) -> Callable[[Body], Body]:
    """Register a function as a check; see `Check`."""

    def add(body: Body) -> Body:
        _CHECKS[name] = Check(name, group, level, body, share, on_request, in_child, asks_reference)
        return body

    return add


def all_checks() -> dict[str, Check]:
    """Return every check by name, in the order in which they run, which is that of `opwright.check.checks`."""
    return dict(_CHECKS)


def select(
    level: Level, only: tuple[str, ...] = (), skip: tuple[str, ...] = (), also: tuple[str, ...] = ()
) -> list[Check]:
    """Select the checks of a run.

    Args:
        level: how thorough the run is.
        only: names of checks or groups to run; by default, all checks of the level.
        skip: names of checks or groups to leave out.
        also: names of checks to add at any level.

    Raises:
        ValueError: there is no such check or group.
    """
    known = all_checks()
    names = known.keys() | {check.group for check in known.values()}
    if unknown := [name for name in (*only, *skip) if name not in names]:
        near = difflib.get_close_matches(unknown[0], names, 2)
        hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(sorted(names))}"
        raise ValueError(f"there is no check {unknown[0]!r}; {hint}")
    return [
        check
        for check in known.values()
        if not {check.name, check.group} & set(skip) and (check.name in also or _belongs(check, level, only))
    ]


def _belongs(check: Check, level: Level, only: tuple[str, ...]) -> bool:
    if only:
        return bool({check.name, check.group} & set(only))
    return not check.on_request and LEVELS.index(check.level) <= LEVELS.index(level)
