"""Points as text: what differs between them makes columns and titles, what they share is said once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple, get_args

from opwright.bench.report import Point

Kind = Literal["operator", "phase", "size", "dtype", "device", "threads", "cache"]
_ORDER: tuple[Kind, ...] = get_args(Kind)
PHASES = {"forward": "forward", "backward": "backward", "both": "forward + backward"}


class Key(NamedTuple):
    """One of the things that make a point: an axis may be called like anything else, so its kind counts, too."""

    kind: Kind
    name: str


def facts(point: Point) -> dict[Key, str]:
    """All that makes a point, as text."""
    return {
        Key("operator", "operator"): point.operator,
        Key("phase", "phase"): PHASES[point.phase],
        **{Key("size", name): str(size) for name, size in point.sizes.items()},
        **{Key("dtype", name): dtype for name, dtype in point.dtypes.items()},
        Key("device", "device"): point.device,
        Key("threads", "threads"): str(point.threads),
        Key("cache", "cache"): point.cache,
    }


def parted(points: Iterable[Point]) -> tuple[list[Key], dict[Key, str]]:
    """What differs between points, in the order of `facts`; and what all of them share."""
    every = [facts(point) for point in points]
    keys = list(dict.fromkeys(key for each in every for key in each))
    values = {key: {each.get(key, "") for each in every} for key in keys}
    varying = [key for key in keys if len(values[key]) > 1]
    varying.sort(key=lambda key: _ORDER.index(key.kind))
    return varying, {key: every[0][key] for key in keys if len(values[key]) == 1}


def worded(given: Mapping[Key, str]) -> str:
    """Facts in a line: ``lltm, forward, B=16, S=128, T=float32, cpu, 1 thread, warm cache``."""
    return ", ".join(_word(key, text) for key, text in given.items() if text)


def _word(key: Key, text: str) -> str:
    if key.kind in ("size", "dtype"):
        return f"{key.name}={text}"
    if key.kind == "threads":
        return f"{text} thread" if text == "1" else f"{text} threads"
    return f"{text} cache" if key.kind == "cache" else text
