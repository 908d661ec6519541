"""How checked kernels are compiled: every access, shift and sum calls the checker, which csrc/check*.cpp is.

The calls are those of the thread and undefined-behaviour sanitizers, and no sanitizer is linked: ours define them. They
know CUDA's threads, blocks and barriers, work in any Python process, and leave it alive.
"""

from __future__ import annotations

from opwright.toolchain.compiler import Compiler

_WATCHED = "-fsanitize=thread,alignment,bounds,signed-integer-overflow,shift,integer-divide-by-zero"
# DWARF 4, uncompressed: what the checker reads lines from. No line may move to another instruction's.
_LINES = ("-g1", "-gdwarf-4", "-gz=none")
# Two kernels of the same text become one function otherwise, with the lines of the first.
_GCC = ("-fno-ipa-icf", "--param=tsan-distinguish-volatile=1", "--param=tsan-instrument-func-entry-exit=0")
_CLANG = (
    *("-mllvm", "-tsan-distinguish-volatile=1", "-mllvm", "-tsan-instrument-func-entry-exit=0"),
    *("-mllvm", "-tsan-instrument-memintrinsics=1"),
)


def words(compiler: Compiler) -> tuple[str, ...]:
    """What the compiler is told of a checked unit."""
    return (_WATCHED, *_LINES, *(_CLANG if compiler.kind == "clang" else _GCC))
