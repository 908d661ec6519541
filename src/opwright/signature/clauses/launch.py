"""The launch of a CUDA kernel: ``launch over N, threads 256``."""

from __future__ import annotations

from opwright.record import record
from opwright.signature.expr import Expr


@record
class Launch:
    """The launch of a ``__global__`` kernel: `over` gives the number of threads along x, y and z.

    Blocks have the size `threads`, and 1 along axes that `threads` doesn't list; `shared` is the dynamic shared memory
    of a block, in bytes. `over` and `shared` may contain axes, int arguments, and ``...``, the number of elements of
    the leading axes.
    """

    over: tuple[Expr, ...]
    threads: tuple[int, ...]
    shared: Expr | None = None

    @property
    def exprs(self) -> tuple[Expr, ...]:
        """All expressions, in written order."""
        return self.over if self.shared is None else (*self.over, self.shared)

    def __str__(self) -> str:
        """Return the notation."""
        shared = "" if self.shared is None else f", shared {self.shared}"
        return f"launch over {', '.join(map(str, self.over))}, threads {', '.join(map(str, self.threads))}{shared}"
