"""The known name that was most likely meant by a misspelt one."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["closest_name"]


_SHORT = 3


def closest_name(name: str, known: Iterable[str], cutoff: float = 0.7) -> str | None:
    """Return the known name that was most likely meant, or None; case is ignored.

    `cutoff`: the least similarity, between 0 and 1, as `difflib` measures it. Of two or three letters, one may differ
    that isn't the first: ``bu`` for ``by``.
    """
    import difflib  # only errors need it

    by_lower = {candidate.lower(): candidate for candidate in known}
    if name.lower() in by_lower:
        return by_lower[name.lower()]
    close = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=cutoff)
    if not close and 1 < len(name) <= _SHORT:
        alike = [known for known in by_lower if known[:1] == name[0].lower() and len(known) <= _SHORT]
        close = difflib.get_close_matches(name.lower(), alike, n=1, cutoff=0.5)
    return by_lower[close[0]] if close else None
