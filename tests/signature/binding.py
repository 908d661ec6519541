"""What the tests of `bind` share: LLTM's signature and arguments, and the text of a refusal."""

from __future__ import annotations

from typing import Any

import pytest

from opwright.errors import ArgumentError
from opwright.signature import DType, TensorInfo, bind, parse

LLTM = parse(
    "lltm(input: T[B, I], weights: T[3*S, I+S], bias: T[3*S], old_h: T[B, S], old_cell: T[B, S])"
    " -> (h: T[B, S], c: T[B, S]; gates: T[B, 3*S])"
)
F32, F64, I64, F16 = DType.F32, DType.F64, DType.I64, DType.F16


def info(*shape: int, dtype: DType = F32) -> TensorInfo:
    return TensorInfo(shape, dtype)


def lltm(**changes: TensorInfo | None) -> dict[str, TensorInfo | None]:
    given: dict[str, TensorInfo | None] = {
        "input": info(16, 32),
        "weights": info(384, 160),
        "bias": info(384),
        "old_h": info(16, 128),
        "old_cell": info(16, 128),
    }
    return given | changes


def refusal(text: str, arguments: dict[str, TensorInfo | None], **known: Any) -> str:
    with pytest.raises(ArgumentError) as caught:
        bind(parse(text), arguments, **known)
    return str(caught.value)
