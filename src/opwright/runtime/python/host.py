"""The services for kernels (``opw_host`` of abi.h): PyTorch's threads, memory and BLAS, called through ctypes.

If a function of PyTorch has exactly the right arguments, kernels get that function itself. Other services are Python
functions, which run in the thread that calls them and take the GIL there, since a kernel doesn't hold it.

A function that C calls must not raise an exception, and must not lose one. A signal (Ctrl-C) that arrives while a
kernel runs is raised as soon as Python code runs in the main thread: at the first line of a callback, before any
``try``. Then ctypes prints the exception and returns 0, and the kernel would continue without the service's result.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import signal
import threading
from collections.abc import Iterator, Sequence
from ctypes import (
    c_char_p,
    c_double,
    c_int32,
    c_int64,
    c_size_t,
    c_uint8,
    c_uint16,
    c_uint64,
    c_void_p,
)
from pathlib import Path
from typing import Any, NamedTuple

import torch

from opwright.runtime import abi
from opwright.runtime.python.devices import running_on
from opwright.signature import DType

_local = threading.local()


class Mark(ctypes.c_void_p):
    """An argument of a callback, which sets ``mark.reached_end = True`` after it has finished or noted its error.

    If a signal interrupts the callback, the destructor of this argument detects that.
    """

    reached_end = False

    def __del__(self) -> None:
        """Note an interrupt if the callback didn't finish."""
        if not self.reached_end:
            note(KeyboardInterrupt("a signal came while a kernel ran"))


def note(error: BaseException) -> None:
    """Store the error until the kernel has returned; only the first one in a thread is kept."""
    if getattr(_local, "error", None) is None:
        _local.error = error


def taken() -> BaseException | None:
    """Return the error that was noted in this thread, and clear it."""
    error: BaseException | None = getattr(_local, "error", None)
    _local.error = None
    return error


@contextlib.contextmanager
def signals_held() -> Iterator[None]:
    """Delay signals until the end: if one interrupted a callback, the kernel would write to unallocated memory."""
    if threading.current_thread() is not threading.main_thread():  # signals are handled in the main thread only
        yield
        return
    came: list[tuple[int, Any]] = []
    handlers = {number: signal.getsignal(number) for number in signal.valid_signals()}
    held = {number: handler for number, handler in handlers.items() if callable(handler)}
    try:
        with contextlib.ExitStack() as afterwards:  # restores every handler, even if another one raises
            for number, handler in held.items():
                afterwards.callback(signal.signal, number, handler)
                signal.signal(number, lambda *signal_and_frame: came.append(signal_and_frame))
            yield
    finally:
        for came_number, frame in came:
            held[signal.Signals(came_number)](came_number, frame)


_KINDS = {torch.float16: 2, torch.float32: 2, torch.float64: 2, torch.bfloat16: 4}
_CUDA, _PRIVATE = 2, 12  # kDLCUDA; kDLExtDev, which PyTorch uses for PrivateUse1
_NAME = b"dltensor"


class _Tensor(ctypes.Structure):
    """``DLManagedTensor``: ``DLTensor``, followed by a context and a deleter."""

    _fields_ = (
        ("data", c_void_p),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("ndim", c_int32),
        ("code", c_uint8),
        ("bits", c_uint8),
        ("lanes", c_uint16),
        ("shape", ctypes.POINTER(c_int64)),
        ("strides", ctypes.POINTER(c_int64)),
        ("byte_offset", c_uint64),
        ("context", c_void_p),
        ("deleter", c_void_p),
    )


_capsule = ctypes.pythonapi.PyCapsule_New
_capsule.restype, _capsule.argtypes = ctypes.py_object, [c_void_p, c_char_p, c_void_p]


def tensor_at(
    address: int, sizes: Sequence[int], strides: Sequence[int], dtype: torch.dtype, device: torch.device
) -> torch.Tensor:
    """Return a tensor over memory that the caller owns and that stays valid during the call."""
    axes = c_int64 * len(sizes)
    managed = _Tensor(
        data=address,
        device_type=_CUDA if device.type == "cuda" else _PRIVATE,
        device_id=device.index or 0,
        ndim=len(sizes),
        code=_KINDS[dtype],
        bits=8 * dtype.itemsize,
        lanes=1,
        shape=axes(*sizes),
        strides=axes(*strides),
    )
    tensor: torch.Tensor = torch.utils.dlpack.from_dlpack(_capsule(ctypes.addressof(managed), _NAME, None))
    # It has no deleter: this keeps it alive as long as the tensor. PyTorch reads the sizes once.
    tensor.kept = managed  # type: ignore[attr-defined]
    return tensor


GEMM = ctypes.CFUNCTYPE(
    c_int32, c_int32, c_int32, c_int32, c_int64, c_int64, c_int64, c_double,
    c_void_p, c_int64, c_void_p, c_int64, c_double, Mark, c_int64,
)  # fmt: skip
_TYPES = {
    getattr(DType, name).code: getattr(torch, getattr(DType, name).torch_name) for name in ("F32", "F64", "F16", "BF16")
}


class Gemm(NamedTuple):
    """The arguments of one matrix product, in the order of abi.h."""

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
        """Whether no size is negative and each row fits into its leading dimension."""
        return (
            min(self.m, self.n, self.k) >= 0
            and self.ldc >= self.n
            and self.lda >= (self.m if self.transpose_a else self.k)
            and self.ldb >= (self.k if self.transpose_b else self.n)
        )


def gemm(dtype: int, transpose_a: int, transpose_b: int, m: int, n: int, k: int, *rest: Any) -> int:
    """Implement ``opw_host.gemm``; return 0, or 1 if the product can't be computed."""
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
    with torch.no_grad():
        out = _matrix(dtype, g.c, g.m, g.n, g.ldc, transposed=False)
        left = _matrix(dtype, g.a, g.m, g.k, g.lda, transposed=g.transpose_a)
        right = _matrix(dtype, g.b, g.k, g.n, g.ldb, transposed=g.transpose_b)
        torch.addmm(out, left, right, beta=g.beta, alpha=g.alpha, out=out)


def _matrix(
    dtype: torch.dtype, data: int | None, rows: int, columns: int, distance: int, *, transposed: bool
) -> torch.Tensor:
    """Return a view of the kernel's memory."""
    strides = (1, distance) if transposed else (distance, 1)
    if not data or not rows or not columns:
        return torch.empty((rows, columns), dtype=dtype, device=running_on())
    if (device := running_on()).type != "cpu":
        return tensor_at(data, (rows, columns), strides, dtype, device)
    last = (rows - 1) * strides[0] + (columns - 1) * strides[1] + 1
    memory = (ctypes.c_char * (last * dtype.itemsize)).from_address(data)
    return torch.frombuffer(memory, dtype=dtype).as_strided((rows, columns), strides)


_PARALLEL_FOR = ctypes.CFUNCTYPE(None, c_int64, c_int64, c_int64, c_void_p, Mark)
_PIECE = ctypes.CFUNCTYPE(None, c_int64, c_int64, c_void_p)
# The kernel's function takes three arguments; a fourth, passed in a register, does no harm (see _piece).
_BODY = ctypes.CFUNCTYPE(None, c_void_p, c_int64, c_int64, c_void_p)
_NUM_THREADS = ctypes.CFUNCTYPE(c_int32)
_ALLOCATE = ctypes.CFUNCTYPE(c_void_p, c_size_t, Mark)
_RELEASE = ctypes.CFUNCTYPE(None, c_void_p, c_void_p)

_blocks: dict[int | None, torch.Tensor] = {}  # workspaces in use, by address


@functools.cache
def _torch_parallel_for() -> Any | None:
    """Return the C function ``torch_parallel_for`` of PyTorch; None if this build doesn't export it."""
    library = ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"))
    function = getattr(library, "torch_parallel_for", None)
    if function is not None:
        function.restype, function.argtypes = c_int32, (c_int64, c_int64, c_int64, _PIECE, c_void_p)
    return function


def _piece(body: int, context: int | None) -> Any:
    """Return a function that calls ``body(context, begin, end)`` and takes PyTorch's order of arguments: context last.

    It contains no Python code: in the main thread, a signal could be raised there, and the piece would be skipped.
    """
    return _PIECE(functools.partial(_BODY(body), context))


def _parallel_for(begin: int, end: int, grain: int, body: int, context: Mark) -> None:
    try:
        piece = _piece(body, context.value)
        # Other threads wouldn't know the call's device, which is a thread-local variable.
        loop = _torch_parallel_for() if running_on().type == "cpu" else None
        if begin < end and (loop is None or loop(begin, end, max(grain, 1), piece, None) != 0):
            piece(begin, end, None)  # an error means that nothing ran: bodies don't throw
    except BaseException as error:  # noqa: BLE001 - the kernel is the caller
        note(error)
    finally:
        context.reached_end = True


def _allocate(size: int, stream: Mark) -> int | None:
    """Implement ``opw_host.allocate``; PyTorch aligns memory that it allocates on the CPU to 64 bytes."""
    address = None
    try:
        block = torch.empty(size, dtype=torch.uint8, device=running_on())
        address = block.data_ptr()
        _blocks[address] = block
    except (RuntimeError, MemoryError, TypeError, OverflowError):
        address = None  # the kernel raises its own error
    except BaseException as error:  # noqa: BLE001 - the kernel is the caller
        note(error)
    finally:
        stream.reached_end = True
    return address


@functools.cache
def host() -> abi.Host:
    """Return the table of services. It lives as long as the process, since libraries keep its address."""
    functions = [
        _PARALLEL_FOR(_parallel_for),
        _NUM_THREADS(torch.get_num_threads),
        _ALLOCATE(_allocate),
        _RELEASE(_blocks.pop),  # called with (memory, stream), which is (key, default)
        GEMM(gemm),
    ]
    table = abi.Host(ctypes.sizeof(abi.Host), abi.VERSION, 0, *map(abi.address, functions))
    table.kept = functions
    return table
