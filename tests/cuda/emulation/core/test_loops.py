"""Kernels that run as plain loops do what they do thread by thread, and their faults name the thread."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

from opwright.cuda.emulation.rewrite import Rewriter
from tests.cuda.emulation.core.conftest import KERNELS, Program

Programs = Callable[[str], Program]
ALL = ("places", "chosen", "counts", "sums", "products", "rotates", "reads", "takes", "divides")


def test_all_kernels_here_run_as_loops() -> None:
    text = (KERNELS / "loops.cu").read_text("utf-8").replace('#include "program.h"', "").replace("EXPORT", "void")
    text = re.sub(r"__launch_bounds__\(\d+\)", "", text)  # as the preprocessor does
    found = Rewriter()(f'# 1 "/project/loops.cu"\n{text}', lambda words: "")
    assert [name for name in ALL if f"opwright_plain_{name}(const" not in found] == []
    assert found.count("::launch_plain(") + found.count("::launch_blocks(") == len(ALL) + 1
    assert "::launch(" not in found


@pytest.mark.usefixtures("any_order")
@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (7, 11), (64, 30)])
def test_places(program: Programs, rows: int, columns: int) -> None:
    x = np.random.default_rng(0).random((rows, columns), np.float32)
    y = np.zeros_like(x)
    program("loops")("place", rows, columns, x, y)
    np.testing.assert_allclose(y, 3 * x + 3, rtol=1e-6)


@pytest.mark.usefixtures("any_order")
def test_overloads(program: Programs) -> None:
    whole, half = np.zeros(8, np.int32), np.zeros(8, np.float32)
    program("loops")("choose", whole, half)
    assert whole.tolist() == [3] * 8
    assert half.tolist() == [3.5] * 8


@pytest.mark.parametrize(("blocks", "threads"), [(1, 1), (3, 1024), (1 << 22, 1), ((1 << 22) + 1, 1)])
def test_every_thread_runs_once(program: Programs, blocks: int, threads: int) -> None:
    out = np.zeros(blocks * threads, np.int32)
    program("loops")("count", blocks, threads, out)
    assert out.min() == out.max() == 1


@pytest.mark.usefixtures("any_order")
def test_sums(program: Programs) -> None:
    x = np.random.default_rng(1).random(1000, np.float32)
    out = np.zeros(5, np.float32)
    program("loops")("sum", 5, x, out, len(x))
    padded = np.append(x, np.zeros(24 * 5 * 64 - len(x), np.float32)).reshape(-1, 5, 64)
    np.testing.assert_allclose(out, padded.sum((0, 2), dtype=np.float64), rtol=1e-5)


@pytest.mark.usefixtures("any_order")
def test_products(program: Programs) -> None:
    a, b = np.random.default_rng(2).random((2, 24, 24))
    c = np.zeros_like(a)
    program("loops")("product", 24, a, b, c)
    np.testing.assert_allclose(c, a @ b)


@pytest.mark.usefixtures("any_order")
@pytest.mark.parametrize("threads", [1, 33, 96])
def test_values_that_live_beyond_a_barrier(program: Programs, threads: int) -> None:
    out = np.zeros((2, threads), np.int32)
    program("loops")("rotate", 2, threads, 5, out)
    mine = np.arange(threads)
    other = np.zeros(threads, np.int64)
    for step in range(5):
        other = np.roll(other + mine, -1) - step % 2
    assert (out == other).all()


ME, X = np.arange(40), 100 + np.arange(40)


@pytest.mark.usefixtures("any_order")
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("returns", np.where(ME < 5, X + 1, X)),
        ("refers", np.where(ME < 3, 2, 4)),
        ("adds", np.where(ME % 2, 75, 57)),
        ("changes", np.where(ME % 3, 2, 7)),
        ("casts", 4 * ME),
        ("steps", X + 20 * ME + 26),
        ("highest", ME + 5),
        ("loads", np.where(ME, X, 7)),
        ("hides", X + 1),
        ("begins", X + 3 * ME + 4),
        ("constants", ME + 4),
        ("shifts", X // 4 + ME // 8),
        ("declares", 2 * ME + 4),
        ("exchanges", np.where(ME % 2, 1000 * ME + X, 1000 * X + ME)),
        ("later", 0 * ME + 4),
    ],
)
def test_what_a_careless_cut_gets_wrong(program: Programs, name: str, expected: np.ndarray) -> None:
    x = X.astype(np.int32)
    program("cuts")(f"run_{name}", x)
    np.testing.assert_array_equal(x, expected)


def test_a_fault_of_a_loop_names_its_thread(program: Programs) -> None:
    memory, which, out = np.ones(1, np.int32), np.zeros(256, np.int32), np.zeros(256, np.int32)
    program("loops")("read", memory, which, out)
    which[2 * 8 + 5] = 1  # in blocks of 8 x 8 threads, x alone counts: every row of block 2 comes to it
    error = program("loops").error("read", memory, which, out)
    assert "a thread reads or writes at" in error
    assert error.endswith("block (2, 0, 0), thread (5, 0, 0)")


def test_a_fault_between_barriers_names_its_thread(program: Programs) -> None:
    by, out = np.ones(256, np.int32), np.zeros(64, np.int32)
    program("loops")("divide", by, out)
    by[3 * 64 + 20] = 0
    error = program("loops").error("divide", by, out)
    assert error.startswith("an integer was divided by zero\n")
    assert error.endswith("block (3, 0, 0), thread (43, 0, 0)")


def test_a_fault_that_does_not_come_again_names_the_block(program: Programs) -> None:
    memory, which = np.ones(1, np.int32), np.zeros(256, np.int32)
    which[64 + 3] = 1
    error = program("loops").error("take", memory, which)
    assert error.endswith("block (1, 0, 0), one of its threads")
