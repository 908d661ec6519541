from __future__ import annotations

from pathlib import Path

import pytest

from opwright.toolchain import Options, Unit, line_directive
from opwright.toolchain.build.vectorization import LoopRemark, loop_remark, read_remark

FILE = Path("/somewhere/loops")
LOOP = "for (int i = 0; i < n; ++i)"
BODIES = {
    "y[i] = 2 * x[i];": True,
    "{ float z = x[i]; while (z < 100) z = z * z + 1; y[i] = z; }": False,
}


@pytest.mark.parametrize("body", BODIES)
def test_the_compilers_word(body: str) -> None:
    marked = f"{line_directive(FILE, 41)}\n#pragma GCC ivdep\n{LOOP} {body}\n{line_directive(Path('/behind'))}\n"
    other = "for (int i = 0; i < n; ++i) y[i] *= 3;"  # another loop, vectorised whatever that one is
    text = f'extern "C" void f(int n, const float *__restrict x, float *__restrict y) {{\n{marked}{other}\n}}\n'
    said = loop_remark(Unit("remarks", text), Options(), FILE, 42)
    assert said.vectorized is BODIES[body]
    assert bool(said.why) is not BODIES[body]
    again = loop_remark(Unit("remarks", text), Options(), FILE, 42)  # from the cache
    assert again == said


GCC = """\
/a.h:3:9: optimized: loop vectorized using 32 byte vectors
/somewhere/loops:42:21: missed: couldn't vectorize loop
/user.cpp:7:12: missed: not vectorized: control flow in loop.
"""
CLANG = """\
/somewhere/loops:42:3: remark: vectorized loop (vectorization width: 8, interleaved count: 4) [-Rpass=loop-vectorize]
"""
CLANG_MISSED = """\
/somewhere/loops:42:3: remark: loop not vectorized: value used outside the loop [-Rpass-analysis=loop-vectorize]
/somewhere/loops:42:3: remark: loop not vectorized [-Rpass-missed=loop-vectorize]
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (GCC, LoopRemark(False, "control flow in loop (/user.cpp:7)")),
        (GCC + "/somewhere/loops:42:21: optimized: loop vectorized using 16 byte vectors\n", LoopRemark(True)),
        (CLANG, LoopRemark(True)),
        (CLANG_MISSED, LoopRemark(False, "value used outside the loop")),
        ("", LoopRemark(False)),
    ],
)
def test_both_compilers_remarks_are_read(text: str, expected: LoopRemark) -> None:
    assert read_remark(text, str(FILE), 42) == expected
