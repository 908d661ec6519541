"""Is it fast? Timing in turn, and results that say where they come from."""

from __future__ import annotations

from opwright.bench.machine import machine
from opwright.bench.result import Result, write_result
from opwright.bench.timing import Timing, interleaved, ratio

__all__ = ["Result", "Timing", "interleaved", "machine", "ratio", "write_result"]
