"""Libraries of CUDA's on the command line that aren't emulated, and aren't here."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tests.cuda.programs.conftest import Command

UNUSED = ("-lcusolver", "-lcudnn_static", "-lnvidia-ml")
CALLED = 'extern "C" int cusolverDnCreate(void **);\nint main() { void *handle; return cusolverDnCreate(&handle); }\n'


@pytest.mark.parametrize("ways", [("emulate",), ("nvcc", "-run")])
def test_one_that_nothing_calls_is_left_out(
    ways: tuple[str, ...], files: Callable[..., None], command: Command
) -> None:
    files(**{"main.cu": "int main() { return 3; }\n"})
    assert command(*ways, "main.cu", *UNUSED) == (3, "", "")


@pytest.mark.parametrize("ways", [("emulate",), ("nvcc",)])
def test_one_that_is_called_is_named(ways: tuple[str, ...], files: Callable[..., None], command: Command) -> None:
    files(**{"main.cu": CALLED})
    ended = command(*ways, "main.cu", *UNUSED)
    assert ended.status == 1
    assert re.search("undefined reference to .?cusolverDnCreate", ended.err)
    assert "\n  -lcusolver was left out: cuSOLVER isn't emulated\n" in ended.err
    assert "\n  -lnvidia-ml was left out: NVML isn't emulated\n" in ended.err


def test_one_of_the_authors_that_is_missing_is_an_error(files: Callable[..., None], command: Command) -> None:
    files(**{"main.cu": "int main() {}\n"})
    ended = command("nvcc", "main.cu", "-lcusolver_of_mine", "-lmissing")
    assert ended.status == 1
    assert "cannot find -lmissing" in ended.err


def test_one_that_is_here_is_linked(files: Callable[..., None], command: Command) -> None:
    files(
        **{
            "solver.cpp": 'extern "C" int cusolverDnCreate(void **) { return 5; }\n',
            "main.cu": CALLED,
        }
    )
    assert command("nvcc", "-shared", "solver.cpp", "-o", "libcusolver.so").status == 0
    assert command("emulate", "main.cu", "-L.", "-lcusolver", "-Xlinker", "-rpath,.") == (5, "", "")
