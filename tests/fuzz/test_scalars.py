"""Functions of one element at random: they are what PyTorch computes, and so are their derivatives."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.scalars import ONE, assert_functions_agree, functions, load
from tests.fuzz.test_calls import SEED, run


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")  # PyTorch's own forward mode
def test_some_functions(tmp_path: Path) -> None:
    drawn = functions(SEED, 10)
    ops = load(drawn, tmp_path)
    assert_functions_agree(drawn, ops, SEED, 0)
    assert_functions_agree(drawn[:4], ops, SEED, 1, forward=True)
    assert_functions_agree(drawn[:2], ops, SEED, 2)


def test_a_wrong_function_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ONE:
        monkeypatch.setitem(ONE, name, lambda a: a + 1e-6)
    drawn = functions(0, 3)
    with pytest.raises(AssertionError, match=r'(?s)OPWRIGHT\("f.*seed 0, order 0'):
        assert_functions_agree(drawn, load(drawn, tmp_path, "wrong"), 0, 0)


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(1, 5))
def test_many_functions(seed: int) -> None:
    done = run("scalars", "--seed", str(SEED + seed), "--count", "24", "--orders", "10", "--forward")
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]
