"""Points, intervals, measurements and comparisons, and their formatting in one line."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

Phase = Literal["forward", "backward", "both"]
Verdict = Literal["faster", "slower", "same", "too noisy"]


@dataclass(frozen=True)
class Point:
    """The operator, phase, sizes and settings of a measurement.

    Attributes:
        operator: the operator's name.
        phase: forward, backward, or both together.
        sizes: the length of each axis of the signature, by name; and values that were set for scalars.
        dtypes: the element type of each type variable, by PyTorch's name: ``{"T": "float32"}``.
        device: ``"cpu"``, ``"cuda"`` or ``"emulated"``.
        threads: PyTorch's intra-op threads.
        cache: ``"warm"``: the caches may hold the arguments; ``"cold"``: they are flushed before each call.
    """

    operator: str
    phase: Phase
    sizes: Mapping[str, int | float | str]
    dtypes: Mapping[str, str]
    device: str = "cpu"
    threads: int = 1
    cache: Literal["warm", "cold"] = "warm"


@dataclass(frozen=True)
class Interval:
    """A median and the bounds of its confidence interval, which are infinite if there are too few samples."""

    median: float
    low: float
    high: float

    @property
    def is_bounded(self) -> bool:
        """Whether both bounds are finite."""
        return math.isfinite(self.low) and math.isfinite(self.high)


@dataclass(frozen=True)
class Roofline:
    """A call compared with the machine's limits.

    Attributes:
        bytes: bytes that one call has to move, from the signature.
        operations: floating-point operations of one call; None if unknown.
        bandwidth: bytes per second of the call.
        copy_bandwidth: bytes per second of a copy of the same size, measured in the same run.
        peak: operations per second, measured in the same run; None if `operations` is.
        overhead: seconds of a call with almost no work.
        bound_by: the limiting factor.
        advice: which term to improve, in a sentence.
    """

    bytes: int
    operations: float | None
    bandwidth: float
    copy_bandwidth: float
    peak: float | None
    overhead: float
    bound_by: Literal["memory", "arithmetic", "call overhead", "neither"]
    advice: str


@dataclass(frozen=True)
class Measurement:
    """One candidate at one point.

    Attributes:
        point: the point.
        candidate: its name: the operator's name, or the alternative as the user specified it.
        time: seconds per call: the median of the samples and its confidence interval.
        samples: seconds per call, for each round, in order, including outliers.
        outliers: number of samples beyond the usual fences (1.5 interquartile ranges from the middle half).
        calls: number of calls of which one sample is the mean.
        roofline: None if the traffic isn't known.
    """

    point: Point
    candidate: str
    time: Interval
    samples: tuple[float, ...]
    outliers: int
    calls: int
    roofline: Roofline | None = None


@dataclass(frozen=True)
class Comparison:
    """A candidate compared with the operator, at one point.

    Attributes:
        point: the point.
        candidate, base: their names.
        ratio: time of the candidate over time of the base, paired round by round: above 1, the candidate is slower.
        verdict: the verdict on the candidate; ``"too noisy"`` if the measurement can't decide.
    """

    point: Point
    candidate: str
    base: str
    ratio: Interval
    verdict: Verdict


Kind = Literal["operator", "phase", "size", "word", "dtype", "device", "threads", "cache"]
_ORDER: tuple[Kind, ...] = get_args(Kind)
PHASES = {"forward": "forward", "backward": "backward", "both": "forward + backward"}


class Key(NamedTuple):
    """A key of `facts`. It includes a kind, because an axis may have any name, such as ``device``."""

    kind: Kind
    name: str


def facts(point: Point) -> dict[Key, str]:
    """Return all facts of a point, as text."""
    return {
        Key("operator", "operator"): point.operator,
        Key("phase", "phase"): PHASES[point.phase],
        **{Key("word" if isinstance(size, str) else "size", name): str(size) for name, size in point.sizes.items()},
        **{Key("dtype", name): dtype for name, dtype in point.dtypes.items()},
        Key("device", "device"): point.device,
        Key("threads", "threads"): str(point.threads),
        Key("cache", "cache"): point.cache,
    }


def split_facts(points: Iterable[Point]) -> tuple[list[Key], dict[Key, str]]:
    """Return the keys that differ between points, in the order of `facts`; and the facts that all points share."""
    by_point = [facts(point) for point in points]
    keys = dict.fromkeys(key for texts in by_point for key in texts)
    shared = {key: by_point[0][key] for key in keys if len({texts.get(key, "") for texts in by_point}) == 1}
    return sorted((key for key in keys if key not in shared), key=lambda key: _ORDER.index(key.kind)), shared


def describe(texts: Mapping[Key, str]) -> str:
    """Format facts in a line: ``lltm, forward, B=16, S=128, T=float32, cpu, 1 thread, warm cache``."""
    return ", ".join(_describe_fact(key, text) for key, text in texts.items() if text)


def _describe_fact(key: Key, text: str) -> str:
    if key.kind in ("size", "dtype"):
        return f"{key.name}={text}"
    if key.kind == "threads":
        return f"{text} thread" if text == "1" else f"{text} threads"
    return f"{text} cache" if key.kind == "cache" else text


def describe_sizes(sizes: Mapping[str, float | str]) -> str:
    """Format sizes in a line: ``B=16, S=128``."""
    return ", ".join(f"{name}={size}" for name, size in sizes.items())


_TIMES = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9))


def format_seconds(seconds: float) -> str:
    """Format seconds: ``12.3 µs``."""
    unit, scale = time_unit(seconds)
    return f"{_digits(seconds / scale)} {unit}"


def format_bounds(interval: Interval) -> str:
    """Format an interval's bounds in the unit of its median: ``12.1-12.6``."""
    if not interval.is_bounded:
        return "unknown"
    _, scale = time_unit(interval.median)
    return f"{_digits(interval.low / scale)}-{_digits(interval.high / scale)}"


def format_ratio(interval: Interval) -> str:
    """Format a ratio: ``1.52 (1.49-1.55)``."""
    if not interval.is_bounded:
        return f"{_digits(interval.median)} (unknown)"
    return f"{_digits(interval.median)} ({_digits(interval.low)}-{_digits(interval.high)})"


def format_giga(rate: float) -> str:
    """Format a rate in units of 1e9: ``12.3``, or ``0.0012`` for a small one."""
    return _digits(rate / 1e9)


def format_share(part: float, whole: float) -> str:
    """Format a share: ``87%``; empty if the whole is unknown."""
    return f"{100 * part / whole:.0f}%" if whole > 0 else ""


def time_unit(seconds: float) -> tuple[str, float]:
    """Return the unit for a time, and the unit's length in seconds."""
    return next(((unit, scale) for unit, scale in _TIMES if abs(seconds) >= scale), _TIMES[-1])


def _digits(value: float) -> str:
    """Format a number with three significant digits, never with an exponent: 1234, 123, 12.3, 1.23, 0.123."""
    if not math.isfinite(value) or value == 0:
        return f"{value:.0f}"
    decimals = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:.{decimals}f}"
