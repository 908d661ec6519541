"""Settings of launches, one within another."""

from __future__ import annotations

from opwright.cuda.emulation import order
from opwright.cuda.emulation import runtime as control


def test_what_is_set_within_is_over_afterwards() -> None:
    with order("reverse"):
        with order("forward"):
            assert control._settings[-1].order == "forward"
        assert control._settings[-1].order == "reverse"
    assert control._settings[-1].order == "forward"
