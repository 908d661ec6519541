"""The known name that was most likely meant by a misspelt one."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["closest_name"]


def closest_name(name: str, known: Iterable[str], cutoff: float = 0.7) -> str | None:
    """Return the known name that was most likely meant, or None; case is ignored.

    `cutoff`: the least similarity, between 0 and 1, as `difflib` measures it.
    """
    import difflib  # only errors need it

    by_lower = {candidate.lower(): candidate for candidate in known}
    if name.lower() in by_lower:
        return by_lower[name.lower()]
    close = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=cutoff)
    return by_lower[close[0]] if close else None
