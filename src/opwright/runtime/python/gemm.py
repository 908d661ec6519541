"""C = alpha * op(A) op(B) + beta * C, by the BLAS that PyTorch exports, and by PyTorch where it exports none."""

from __future__ import annotations

import ctypes
import functools
from ctypes import POINTER, byref, c_char, c_double, c_float, c_int, c_int32, c_int64, c_void_p
from typing import Any, NamedTuple

import torch

from opwright.runtime.python.accelerator import running_on
from opwright.runtime.python.exports import exported
from opwright.runtime.python.foreign import tensor_at
from opwright.runtime.python.interrupts import Mark, note
from opwright.signature import DType

GEMM = ctypes.CFUNCTYPE(
    c_int32, c_int32, c_int32, c_int32, c_int64, c_int64, c_int64, c_double,
    c_void_p, c_int64, c_void_p, c_int64, c_double, Mark, c_int64,
)  # fmt: skip
_LIMIT = 2**31 - 1
_TYPES = {
    getattr(DType, name).code: getattr(torch, getattr(DType, name).torch_name) for name in ("F32", "F64", "F16", "BF16")
}


class Gemm(NamedTuple):
    """The numbers of one call, in the order of abi.h."""

    transpose_a: bool
    transpose_b: bool
    m: int
    n: int
    k: int
    alpha: float
    a: int | None
    lda: int
    b: int | None
    ldb: int
    beta: float
    c: int | None
    ldc: int

    @property
    def is_possible(self) -> bool:
        """Whether rows are as long as they are said to be."""
        return (
            min(self.m, self.n, self.k) >= 0
            and self.ldc >= self.n
            and self.lda >= (self.m if self.transpose_a else self.k)
            and self.ldb >= (self.k if self.transpose_b else self.n)
        )

    @property
    def fits_int(self) -> bool:
        """Whether a BLAS with 32-bit integers can do it."""
        return max(self.m, self.n, self.k, self.lda, self.ldb, self.ldc) <= _LIMIT


def gemm(dtype: int, transpose_a: int, transpose_b: int, m: int, n: int, k: int, *rest: Any) -> int:
    """``opw_host.gemm``: 0, or 1 where it can't."""
    alpha, a, lda, b, ldb, beta, c, ldc = rest
    status = 1
    try:
        g = Gemm(transpose_a != 0, transpose_b != 0, m, n, k, alpha, a, lda, b, ldb, beta, c.value, ldc)
        if dtype in _TYPES and g.is_possible:
            if m and n:
                _multiply(_TYPES[dtype], g if g.alpha else g._replace(k=0))  # then A and B aren't read
            status = 0
    except (RuntimeError, MemoryError):
        status = 1
    except BaseException as error:  # noqa: BLE001 - the kernel is the caller
        note(error)
    finally:
        c.reached_end = True
    return status


def _multiply(dtype: torch.dtype, g: Gemm) -> None:
    function = _blas(dtype)
    if function is not None and g.k > 0 and g.fits_int and running_on().type == "cpu":
        _call_blas(function, c_float if dtype is torch.float32 else c_double, g)
    else:
        _call_torch(dtype, g)


@functools.cache
def _blas(dtype: torch.dtype) -> Any | None:
    """The Fortran function, which takes everything by address."""
    names: dict[torch.dtype, tuple[str, Any]] = {
        torch.float32: ("sgemm_", c_float),
        torch.float64: ("dgemm_", c_double),
    }
    if dtype not in names:
        return None
    (name, real), size = names[dtype], POINTER(c_int)
    scalar, matrix = POINTER(real), c_void_p
    return exported(
        name, None, *[POINTER(c_char)] * 2, *[size] * 3, scalar, matrix, size, matrix, size, scalar, matrix, size
    )


def _call_blas(function: Any, real: Any, g: Gemm) -> None:
    """Row-major C = A B is column-major C' = B' A': the operands are swapped."""
    ta, tb = c_char(b"T" if g.transpose_a else b"N"), c_char(b"T" if g.transpose_b else b"N")
    m, n, k, lda, ldb, ldc = (byref(c_int(size)) for size in (g.n, g.m, g.k, g.ldb, g.lda, g.ldc))
    alpha, beta = byref(real(g.alpha)), byref(real(g.beta))
    function(byref(tb), byref(ta), m, n, k, alpha, g.b, lda, g.a, ldb, beta, g.c, ldc)


def _call_torch(dtype: torch.dtype, g: Gemm) -> None:
    with torch.no_grad():
        out = _matrix(dtype, g.c, g.m, g.n, g.ldc, transposed=False)
        left = _matrix(dtype, g.a, g.m, g.k, g.lda, transposed=g.transpose_a)
        right = _matrix(dtype, g.b, g.k, g.n, g.ldb, transposed=g.transpose_b)
        torch.addmm(out, left, right, beta=g.beta, alpha=g.alpha, out=out)


def _matrix(
    dtype: torch.dtype, data: int | None, rows: int, columns: int, distance: int, *, transposed: bool
) -> torch.Tensor:
    """A view of the kernel's memory."""
    strides = (1, distance) if transposed else (distance, 1)
    if not data or not rows or not columns:
        return torch.empty((rows, columns), dtype=dtype, device=running_on())
    if (device := running_on()).type != "cpu":
        return tensor_at(data, (rows, columns), strides, dtype, device)
    last = (rows - 1) * strides[0] + (columns - 1) * strides[1] + 1
    memory = (ctypes.c_char * (last * dtype.itemsize)).from_address(data)
    return torch.frombuffer(memory, dtype=dtype).as_strided((rows, columns), strides)
