"""Generated CUDA code of pointwise kernels: a kernel whose threads process several elements at once, and its launch."""

from __future__ import annotations

from collections.abc import Iterator
from string import Template

from opwright.codegen.pointwise import Element, Scalar

_KERNEL = Template("""\
__global__ void __launch_bounds__(opwright::detail::block_threads, 1) opwright_pointwise_$index(
    const opwright::detail::Piece<$count> piece, const opwright_context_$index given) {
  constexpr int width = $width;
  [[maybe_unused]] opwright_context_$index c = given;
  for (uint32_t first = opwright::detail::first_element<width>(); first < piece.elements;
       first += opwright::detail::all_threads<width>()) {
    const opwright::detail::Places<$count, width> places(piece, first);
$registers
$loads
#pragma unroll
    for (int i = 0; i < width; ++i) {
$statements
    }
$stores
  }
}
static void opwright_launch_$index(const opwright::detail::Piece<$count> &piece, const void *context, void *stream) {
  const opwright_context_$index &c = *static_cast<const opwright_context_$index *>(context);
  opwright_pointwise_$index<<<opwright::detail::blocks(piece.elements, $width), opwright::detail::block_threads, 0,
                              static_cast<cudaStream_t>(stream)>>>(piece, c);
  opwright::check_launch();
}
""")
_POINTWISE_CUDA_STATEMENT = Template("""\
static const opwright::detail::Operand operands[] = {$operands};
    const opwright_context_$index context{$values};
    opwright::detail::pointwise_cuda<$count, $width>(a.call, operands, &opwright_launch_$index, &context);""")
_WIDEST = 16
"""The most bytes that a thread reads or writes at once."""
_MOST = 128
"""The most elements, of all operands together, that a thread holds in registers."""


class CudaLoop(Element):
    """The CUDA kernel of one instance, and its launch."""

    def definitions(self) -> str:
        """Return the definitions before the entry."""
        kernel = _KERNEL.substitute(
            index=self.index,
            count=len(self._operands()),
            width=self._width(),
            registers="\n".join(self._registers()),
            loads="\n".join(self._moves("load", "reads")),
            statements="\n".join(f"  {line}" for line in self._element()),
            stores="\n".join(self._moves("store", "writes")),
        )
        return f"{self.context()}{kernel}"

    def statement(self, scalar: Scalar) -> str:
        """Return the entry's statement on the call `a`; `scalar` returns the expression of a scalar argument."""
        values, count = ", ".join(self._values(scalar)), len(self._operands())
        return _POINTWISE_CUDA_STATEMENT.substitute(
            operands=self._listed(), count=count, width=self._width(), index=self.index, values=values
        )

    def _width(self) -> int:
        """Return how many elements a thread processes at once: 16 bytes of the widest operand, but at least four.

        Fewer if 16 bytes of the narrowest operand hold less than four, or if registers don't suffice.
        """
        sizes = [tensor.type.resolve(self.types).itemsize for tensor, _ in self._operands()]
        width = max(_WIDEST // max(sizes), min(4, _WIDEST // min(sizes)))
        while width > 1 and width * len(sizes) > _MOST:
            width //= 2
        return width

    def _registers(self) -> Iterator[str]:
        for tensor, _ in self._operands():
            yield f"    {self._memory(tensor)} {self._pointer(tensor)}[width];"

    def _moves(self, move: str, access: str) -> Iterator[str]:
        """Yield the loads of operands that are read, or the stores of those that are written."""
        for i, (tensor, of_it) in enumerate(self._operands()):
            if of_it in (access, "overwrites"):
                yield f"    places.{move}({i}, {self._pointer(tensor)});"
