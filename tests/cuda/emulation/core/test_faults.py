"""What goes wrong in a kernel ends its launch with an error; the process, and the next launch, go on."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from tests.cuda.emulation.core.conftest import Program

Programs = Callable[[str], Program]
pytestmark = pytest.mark.usefixtures("any_order")


@pytest.fixture(autouse=True)
def next_launch_works(program: Programs) -> Iterator[None]:
    """After every test the same library still computes what it should."""
    yield
    given, out = np.arange(100_000, dtype=np.int32), np.zeros(1, np.int64)
    program("faults")("sum", given, out, len(given))
    assert out[0] == given.sum(dtype=np.int64)


def test_deadlock(program: Programs) -> None:
    error = program("faults").error("deadlock", 20)
    lines = error.splitlines()
    assert lines[0] == "the block can't go on: of 64 threads 0 have returned"
    assert any("20 wait for lanes of their warp, " in line and "faults.cu:8 " in line for line in lines), error
    assert any("44 wait at a barrier, " in line and "faults.cu:10 " in line for line in lines), error
    assert "  likely fix: let all threads of the block, or all lanes of the mask, come to the same place" in lines
    assert lines[-1].startswith("  in split, launched at ")
    assert "faults.cu:13, block (" in lines[-1]


def test_lanes_that_wait_in_different_operations(program: Programs) -> None:
    error = program("faults").error("mixed_operations")
    assert error.startswith("lanes ")
    assert "of a warp wait for each other in different operations, at " in error
    assert "faults.cu:18" in error
    assert "faults.cu:20" in error


def test_a_stack_that_is_used_up(program: Programs) -> None:
    out = np.zeros(64, np.int32)
    program("faults")("overflow", out, 10)
    assert out.tolist() == [55] * 64
    error = program("faults").error("overflow", out, 1_000_000)
    assert error.startswith("a thread has used up its stack\n  likely fix: smaller local arrays")
    assert "in recurse, launched at " in error


def test_an_address_that_is_no_memory(program: Programs) -> None:
    error = program("faults").error("wild_write", None)
    assert "a thread reads or writes at" in error
    assert "which is no memory\n  likely fix: emulate(check=True) says where\n  in wild, " in error


def test_division_by_zero(program: Programs) -> None:
    by, out = np.ones(64, np.int32), np.zeros(64, np.int32)
    program("faults")("division", by, out)
    by[33] = 0
    error = program("faults").error("division", by, out)
    assert error.startswith("an integer was divided by zero\n")
    assert "thread (33, 0, 0)" in error


def test_exceptions(program: Programs) -> None:
    error = program("faults").error("thrown")
    assert error.startswith("a C++ exception left the kernel: forty\n  in throws, launched at ")
    assert "thread (40, 0, 0)" in error
    assert program("faults").error("checked", 3).startswith("n is 3 [n > 3 is false, ")
    assert program("faults").error("checked", 4) == ""


def test_a_kernel_that_the_host_calls_by_a_pointer(program: Programs) -> None:
    out = np.zeros(4, np.int32)
    error = program("faults").error("hand_on", out)
    assert error.startswith("the kernel handed outside of a kernel, in host code [")
    assert out.tolist() == [1] * 4


def test_a_kernel_that_launches_a_kernel(program: Programs) -> None:
    error = program("faults").error("nested")
    assert error.startswith("a kernel launches split at ")
    assert "kernels that launch kernels aren't emulated" in error


@pytest.mark.parametrize(
    ("launch", "message"),
    [
        ((0, 1, 1, 32, 1, 1, 0), "nothing to run: the grid or the block is empty"),
        ((1, 1, 1, 32, 0, 1, 0), "nothing to run: the grid or the block is empty"),
        ((1, 1, 1, 1025, 1, 1, 0), "a block has at most 1024 threads"),
        ((1, 1, 1, 32, 33, 1, 0), "a block has at most 1024 threads"),
        ((1, 1, 1, 2, 2, 65, 0), "a block has at most 1024 threads"),
        ((1, 65536, 1, 1, 1, 1, 0), "a grid has at most 2147483647, 65535, 65535 blocks"),
        ((1, 1, 1, 1, 1, 1, 240_000), "a block has at most 232448 bytes of dynamic shared memory"),
    ],
)
def test_launches_that_no_gpu_would_take(program: Programs, launch: tuple[int, ...], message: str) -> None:
    error = program("faults").error("launch", *launch)
    assert error.startswith(message)
    gx, gy, gz, bx, by, bz, shared = launch
    assert f"got <<<({gx}, {gy}, {gz}), ({bx}, {by}, {bz}), {shared}>>> for nothing at " in error


def test_more_shared_memory_than_there_is(program: Programs) -> None:
    error = program("faults").error("too_large")
    assert error.startswith(
        "__shared__ values needs 72000 bytes, and the block has used 0 of 65536\n  likely fix: extern"
    )


def test_launches_of_several_threads_at_once(program: Programs) -> None:
    given, out = np.arange(50_000, dtype=np.int32), np.zeros(8, np.int64)
    program("faults")("sums_at_once", given, out, len(given), 8)
    assert out.tolist() == [given.sum(dtype=np.int64)] * 8


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_process_has_workers_of_its_own(program: Programs) -> None:
    given, out = np.arange(50_000, dtype=np.int32), np.zeros(1, np.int64)
    call = program("faults")
    call("sum", given, out, len(given))
    child = os.fork()
    if not child:
        out[:] = 0
        call("sum", given, out, len(given))
        os._exit(0 if out[0] == given.sum(dtype=np.int64) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
