"""Checks of what PyTorch offers around an operator: what an error there means depends on who built it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator

from opwright.check.context import Context
from opwright.check.eager import Eager
from opwright.check.registry import Body, Level, Skipped, register
from opwright.check.report import Finding

_MOST = 1500

Feature = Callable[[Eager], Iterator[Finding]]


def feature(name: str, *, level: Level = "quick", share: float = 1.0) -> Callable[[Feature], Body]:
    """Make a function of an `Eager` a check of the group ``pytorch``.

    What it raises is a finding for an operator that Opwright made, which promises the feature; for others' it says that
    they don't have it.
    """

    def decorate(body: Feature) -> Body:
        def checked(context: Context) -> Iterator[Finding]:
            eager = Eager(context)
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    found = list(body(eager))
            except Skipped:
                raise
            except Exception as error:
                text = f"{type(error).__name__}: {str(error).strip()[:_MOST]}"
                if not context.subject.ours:
                    raise Skipped(f"it has no {name}: {text.partition(chr(10))[0]}") from error
                found = [eager.finding(eager.case, "raises", f"{name}: {text}")]
            yield from found

        checked.__doc__ = body.__doc__
        return register(name, group="pytorch", level=level, share=share)(checked)

    return decorate
