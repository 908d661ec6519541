"""Whether the compiler vectorised the loops of pointwise operators, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor

from opwright.codegen import KernelSource
from opwright.codegen.pointwise import LOOPS, loop_line
from opwright.errors import OpwrightError
from opwright.signature import DType, Signature
from opwright.toolchain import Options, Unit
from opwright.toolchain.process import jobs
from opwright.toolchain.remarks import loop_remark


def vectorized(source: KernelSource) -> Mapping[str, str]:
    """Of a file's pointwise operators and their first derivatives, by name, whether loops over float32 are vectorised.

    They are compiled for it, several at a time; what doesn't compile, or can't be compiled here, says so.
    """
    loops = list(_loops(source))
    with ThreadPoolExecutor(jobs()) as pool:
        said = pool.map(lambda loop: _said(loop[2], source.options), loops)
    return {name: f"{text} ({_types(types)})" for (name, types, _), text in zip(loops, said, strict=True)}


def _loops(source: KernelSource) -> Iterator[tuple[str, dict[str, DType], Unit]]:
    for kernel in source.source.kernels:
        signature = source.signatures[kernel.signature.name]
        if signature.pointwise:
            types = _float32(signature)
            yield signature.name, types, source.kernel_unit(signature.name, types)
    for derived in source.derivatives():
        if derived.ahead is not None:
            types = _float32(derived.signature)
            yield derived.name, types, derived.unit(types, derived.ahead)


def _float32(signature: Signature) -> dict[str, DType]:
    """The element types to look at: float32 where that is allowed."""
    instances = signature.instances()
    return max(instances, key=lambda types: sum(dtype is DType.F32 for dtype in types.values()))


def _said(unit: Unit, options: Options) -> str:
    try:
        vectorized, why = loop_remark(unit, options, LOOPS, loop_line(0))
    except OpwrightError as error:
        return f"not known: {str(error).splitlines()[0]}"
    return "yes" if vectorized else f"no: {why or 'the compiler gives no reason'}"


def _types(types: Mapping[str, DType]) -> str:
    return ", ".join(dtype.torch_name for dtype in types.values()) or "as written"
