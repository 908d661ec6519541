"""Nothing is left behind by calls, and memory comes back."""

from __future__ import annotations

import pytest
import torch

from opwright.legacy.th_library import load_library
from tests.legacy.extensions import Extension, FatalError

pytestmark = pytest.mark.native


def rounds(probe: Extension, th: Extension) -> None:
    """All ways in which something might stay behind."""
    t = torch.ones(2, 3)
    probe.add_forward(t, t, torch.empty(0))
    probe.made(5, 1.0)
    probe.row(t, 0)
    probe.same(t)
    probe.same_retained(t)
    probe.storage_of(t)
    probe.storage_of_retained(t)
    probe.made_storage(3)
    probe.keep(t)
    probe.unkeep()
    probe.keep_storage(t)
    probe.unkeep_storage()
    probe.made_and_kept(3)
    probe.unkeep()
    probe.swap_contents(t, torch.ones(3))
    probe.free_too_often(t, 2)
    for function, *arguments in (
        (probe.error_in_place, t),
        (probe.mean, t.double()),
        (probe.lie, t, 99),
        (probe.mean, 3),
    ):
        with pytest.raises((FatalError, TypeError)):
            function(*arguments)
    th.THFloatTensor_newUnfold(t, 0, 1, 1)
    with pytest.raises(FatalError):
        th.THFloatTensor_newWithSize2d(-1, 2)
    with pytest.raises(FatalError):
        th.THFloatTensor_newNarrow(t, 0, 9, 9)


def test_nothing_is_left_behind(probe: Extension, th: Extension) -> None:
    """Tensors and storages that C code or the pool holds are as many as before."""
    for _ in range(64):  # the pool gives up what the tests before this one needed at once
        rounds(probe, th)
    before = load_library().alive()
    for _ in range(50):
        rounds(probe, th)
    assert load_library().alive() == before


@pytest.mark.slow
def test_memory_comes_back(probe: Extension) -> None:
    """Dozens of tensors of 8 and 16 MB, one after the other."""
    import resource

    def peak() -> int:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024

    out = torch.empty(0)
    a = torch.ones(1 << 22)
    probe.add_forward(a, a, out)
    before = peak()
    for _ in range(40):
        probe.doubled(torch.ones(1 << 20, dtype=torch.float64))
        probe.row(torch.ones(1, 1 << 22), 0)
        probe.add_forward(a, a, torch.empty(0))
    assert peak() - before < 200
