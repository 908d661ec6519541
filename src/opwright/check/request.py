"""The request: what `opwright.check` was asked for, as another process can receive it. PyTorch isn't imported here."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from opwright.check.report import LEVELS, Level

if TYPE_CHECKING:
    from opwright.check.calls.target_operator import TargetOperator


CALL_SECONDS: dict[Level, float] = {"quick": 20.0, "normal": 60.0, "thorough": 300.0}
"""Time limit of a call that computes."""


class TargetList(tuple[Any, ...]):
    """Targets that the command checks together: an option may apply to only one of them."""

    __slots__ = ()


@dataclass(frozen=True)
class Request:
    """The arguments of `opwright.check.check`.

    Attributes:
        targets: what is checked.
        reference, signature, level, only, skip, seed, device, domains, examples: as given.
        options: further options, which checks look up by name: ``ulp``, ``straight_through``, ``eps``, ``signed_zero``,
            ``sanitize``.
        shares: the sum of the shares of time of all checks, if some of them run in another process.
    """

    targets: tuple[Any, ...]
    reference: Any = None
    signature: str | Sequence[str] | None = None
    level: Level = "normal"
    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    seed: int = 0
    device: str = "cpu"
    domains: Mapping[str, Any] = field(default_factory=dict)
    examples: Any = None
    options: Mapping[str, Any] = field(default_factory=dict)
    shares: float = 0.0

    def __post_init__(self) -> None:
        """Refuse values that no target could make sense of.

        Raises:
            TypeError: `straight_through` is a string.
            ValueError: the level doesn't exist, `ulp` is negative, or `eps` isn't a positive finite number.
        """
        straight_through, ulp, eps = (self.options.get(name) for name in ("straight_through", "ulp", "eps"))
        if self.level not in LEVELS:
            raise ValueError(f"check() got level={self.level!r}, expected 'quick', 'normal' or 'thorough'")
        if isinstance(straight_through, str):
            raise TypeError(
                f"check() got straight_through={straight_through!r}, expected names: ({straight_through!r},)"
            )
        if ulp is not None and not ulp >= 0:
            raise ValueError(f"check() got ulp={ulp!r}, expected 0 or more units of the last place")
        if eps is not None and not 0 < eps < math.inf:
            raise ValueError(f"check() got eps={eps!r}, expected a step above 0")

    @property
    def is_text(self) -> bool:
        """Whether targets, reference and examples are names and paths, which mean the same in every process."""
        named = all(isinstance(each, (str, os.PathLike)) for each in self.targets)
        return named and all(isinstance(each, (str, type(None))) for each in (self.reference, self.examples))

    def find_operators(self) -> list[TargetOperator]:
        """Find the operators, and refuse options that don't fit them.

        Raises:
            SignatureError: a signature is missing, isn't expected, or can't be parsed.
            SourceError: the target can't be found, or it has only CUDA kernels and the device is the CPU.
            ValueError: the device isn't available, or can't be used for a target; an option would have no effect.
        """
        from opwright.check.validation import find_valid_operators

        return find_valid_operators(self)
