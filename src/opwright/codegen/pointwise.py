"""Writes the loops of pointwise kernels for the CPU: one element's computation over blocks of elements."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from string import Template

from opwright.codegen.element import Element, Scalar
from opwright.toolchain import header_dir, line_directive

_BLOCK = Template("""\
__attribute__((flatten)) void opwright_block_$index(char *const *p, int64_t n, const void *context) {
  opwright_context_$index c = *static_cast<const opwright_context_$index *>(context);
$pointers
$loop
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
$statements
  }
$after
}
""")
_STATEMENT = Template("""\
static const opwright::detail::Operand operands[] = {$operands};
    const opwright_context_$index context{$values};
    opwright::detail::pointwise(a.call, operands, $count, &opwright_block_$index, &context);""")

LOOPS = header_dir() / "opwright" / "loops"
"""The file, as the compiler is told, in which the loops of pointwise kernels stand; there is none."""
GENERATED = header_dir() / "opwright" / "generated"
"""What stands behind a loop, likewise."""


def loop_line(index: int) -> int:
    """The line of :data:`LOOPS` at which the loop of a library's kernel number `index` begins."""
    return 1000 * (index + 1)


@dataclass(frozen=True)
class Loop(Element):
    """The loop of one instance."""

    def definitions(self) -> str:
        """The C++ that stands before the entry."""
        block = _BLOCK.substitute(
            index=self.index,
            pointers="\n".join(self._pointers()),
            loop=line_directive(LOOPS, loop_line(self.index) - 1),
            statements="\n".join(self._element()),
            after=line_directive(GENERATED),
        )
        return f"{self.context()}{block}"

    def statement(self, scalar: Scalar) -> str:
        """What the entry does with the call `a`; `scalar`: the expression of a scalar argument."""
        values = ", ".join(self._values(scalar))
        return _STATEMENT.substitute(
            operands=self._listed(), count=len(self._operands()), index=self.index, values=values
        )

    def _pointers(self) -> Iterator[str]:
        for i, (tensor, access) in enumerate(self._operands()):
            stored = self._memory(tensor)
            type_ = f"const {stored}" if access == "reads" else stored
            yield f"  {type_} *const {self._pointer(tensor)} = reinterpret_cast<{type_} *>(p[{i}]);"
