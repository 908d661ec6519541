"""What a bundle is made of: for each source and device the kernels that operators use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import torch

from opwright.codegen import KernelSource
from opwright.codegen.parts import Chosen
from opwright.codegen.parts import choose as choose_parts
from opwright.errors import ArgumentError, UnsupportedError
from opwright.runtime.interface import KernelState
from opwright.signature import DType, Signature


def choose(
    sources: Sequence[KernelSource], states: Iterable[KernelState], dtypes: Sequence[torch.dtype] | None
) -> Chosen:
    """What a bundle of these operators needs.

    Raises:
        ArgumentError: `dtypes` leave an operator without a kernel.
        UnsupportedError: the operators are emulated.
    """
    if emulated := [source.path.name for source in sources if source.is_emulated]:
        raise UnsupportedError(
            f"bundle(): the operators of {', '.join(emulated)} are emulated, which is for tests\n"
            "  likely fix: bundle what load() gives without backend='emulate'"
        )
    names = None if dtypes is None else {str(dtype).removeprefix("torch.") for dtype in dtypes}

    def wanted(types: Mapping[str, DType]) -> bool:
        return names is None or all(dtype.torch_name in names for dtype in types.values())

    chosen = choose_parts(sources, wanted)
    for state in states:
        _check_any(state.signature, chosen.kernels[state.signature.name], dtypes)
    return chosen


def _check_any(signature: Signature, found: Sequence[object], dtypes: Sequence[torch.dtype] | None) -> None:
    if not found:
        raise ArgumentError(
            f"bundle(): dtypes={list(dtypes or ())} leave {signature.name} without a kernel\n"
            f"  signature:  {signature}\n"
            f"  likely fix: add an element type for each of {', '.join(signature.type_variables)}"
        )
