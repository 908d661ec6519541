"""The compiler makes vector instructions of the examples' loops, forward and backward: no selection became a branch."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from opwright.codegen.source import KernelSource
from opwright.signature import DType
from opwright.toolchain import Options
from opwright.toolchain.compilers.compiler import Compiler, find_compiler
from opwright.toolchain.compilers.flags import compile_flags

_EXAMPLES = Path(__file__).parents[2] / "examples"
_LOOP = "#pragma GCC ivdep\n"


@pytest.fixture(scope="module")
def vectorized() -> Callable[[str], set[int]]:
    """Which of a unit's blocks the compiler vectorised, by their numbers."""
    compiler: Compiler = find_compiler("c++")
    if compiler.kind != "gcc" or not compiler.target.startswith("x86_64-linux"):
        pytest.skip(f"what {compiler.kind} for {compiler.target} vectorises is its own affair")

    def blocks(text: str) -> set[int]:
        numbers = re.findall(r"void opwright_block_(\d+)\(", text)
        for number in numbers:  # the messages name the place that they are told
            text = text.replace(_LOOP, f'#line 1 "block_{number}"\n{_LOOP.strip()} \n', 1)
        command = [
            *compiler.command,
            "-x",
            "c++",
            *compile_flags(compiler, Options(), "c++"),
            "-S",
            "-o",
            "/dev/null",
            "-",
        ]
        command.append("-fopt-info-vec-optimized")
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-3000:]
        return {int(number) for number in re.findall(r"block_(\d+):2:.*loop vectorized using", done.stderr)}

    return blocks


def source(name: str) -> KernelSource:
    return KernelSource(_EXAMPLES / name, Options())


@pytest.mark.parametrize("name", ["activations/activations.cpp", "lltm/lltm_derived.cpp", "quantize/quantize.cpp"])
def test_forward(vectorized: Callable[[str], set[int]], name: str) -> None:
    text = source(name).unit({"T": DType.F32}).text
    count = text.count(_LOOP)
    assert count >= 1
    assert vectorized(text) == set(range(count))


def _derived() -> list[tuple[str, str]]:
    names = ("mish", "hard_swish", "gelu", "softplus", "smooth_l1")
    return [("activations/activations.cpp", name) for name in names] + [("lltm/lltm_derived.cpp", "lltm_derived")]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "operator"), _derived())
def test_first_backward(vectorized: Callable[[str], set[int]], name: str, operator: str) -> None:
    known = source(name)
    results = len(known.derived[f"{operator}_backward"].signature.results)
    unit = known.derived_unit(f"{operator}_backward", {"T": DType.F32}, 2**results - 1)
    assert vectorized(unit.text) == {0}


def test_a_branch_is_noticed(vectorized: Callable[[str], set[int]]) -> None:
    text = source("quantize/quantize.cpp").unit({"T": DType.F32}).text
    name = text.rindex(_LOOP)
    body = text.index("{", name)
    assert vectorized(f"{text[: body + 1]} if (n % 7 == i) return; {text[body + 1 :]}") == {0}
