"""A change to torch that can be taken back: the unit of which being installed consists."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Change(NamedTuple):
    """Something that `opwright.legacy.install` does to torch.

    Attributes:
        name: what is changed, as a dotted name.
        does: what it is like afterwards, in a few words.
        apply: makes the change, and returns what takes it back.
    """

    name: str
    does: str
    apply: Callable[[], Callable[[], None]]


_MISSING = object()


def set_attribute(owner: Any, name: str, value: Any) -> Callable[[], None]:
    """Set an attribute; what is returned restores what there was, or was not, in ``owner`` itself."""
    before = vars(owner).get(name, _MISSING)
    setattr(owner, name, value)

    def undo() -> None:
        if before is _MISSING:
            delattr(owner, name)
        else:
            setattr(owner, name, before)

    return undo
