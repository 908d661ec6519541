"""Index ranges (`at: i64[N] in [0, M)`): checked before a kernel sees them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from opwright import ArgumentError, Operators

INTEGERS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint16, torch.uint32, torch.uint64]


@pytest.mark.slow
@pytest.mark.parametrize("dtype", INTEGERS)
def test_right_ones(notation: Operators, dtype: torch.dtype) -> None:
    x = torch.randn(5, 3)
    at = torch.tensor([4, 0, 2, 2])
    assert torch.equal(notation.rows(x, at.to(dtype)), x[at])
    assert notation.rows(x, at[:0].to(dtype)).shape == (0, 3)
    assert notation.rows(x[:0], at[:0].to(dtype)).shape == (0, 3)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_wrong_ones_are_found_wherever_they_are(notation: Operators, dtype: torch.dtype) -> None:
    x = torch.randn(5, 3)
    wrong = [5, torch.iinfo(dtype).max] + ([-1, torch.iinfo(dtype).min] if dtype.is_signed else [])
    for value in wrong:
        for place in (0, 50, 99):
            at = torch.from_numpy(np.array([value if i == place else 0 for i in range(100)], str(dtype)[6:]))
            with pytest.raises(
                ArgumentError, match=rf"rows\(\): at\[{place}\] is {value}, expected an index in \[0, M\)"
            ):
                notation.rows(x, at)


def test_no_rows_at_all(notation: Operators) -> None:
    with pytest.raises(ArgumentError, match=r"at\[0\] is 0, expected an index in \[0, M\) = \[0, 0\)"):
        notation.rows(torch.ones(0, 3), torch.zeros(2, dtype=torch.int64))


def test_expressions_strides_and_optional_indices(notation: Operators) -> None:
    x, at = torch.ones(3), torch.tensor([[-3, 0], [2, 3]])
    assert notation.window(x, at).item() == 2
    assert notation.window(x, at.t(), torch.tensor([1, 2])).item() == 4
    with pytest.raises(ArgumentError, match=r"at\[0\]\[1\] is 4, expected an index in \[-1\*M, M\+1\) = \[-3, 4\)"):
        notation.window(x, torch.tensor([[1, 2], [4, 3]]).t())
    with pytest.raises(ArgumentError, match=r"extra\[1\] is 3, expected an index in \[1, N\+1\) = \[1, 3\)"):
        notation.window(x, at, torch.tensor([1, 3]))


def test_under_a_compiled_function_too(notation: Operators) -> None:
    def f(x: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
        return torch.as_tensor(notation.rows(x, at) * 2)

    compiled = torch.compile(f, fullgraph=True, backend="aot_eager")
    x = torch.randn(5, 3)
    assert torch.equal(compiled(x, torch.tensor([1])), x[[1]] * 2)
    with pytest.raises(ArgumentError, match=r"at\[0\] is 5"):
        compiled(x, torch.tensor([5]))
