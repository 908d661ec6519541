"""The services that kernels get (``opw_host`` of abi.h): PyTorch's threads, memory and BLAS, taken through ctypes.

Where a function of PyTorch's has just the right arguments, kernels get that function itself. Others are Python: they
run in whatever thread the kernel is in, and wait for the GIL there, which a kernel doesn't hold.
"""

from __future__ import annotations

import ctypes
import functools
from ctypes import c_int32, c_int64, c_size_t, c_void_p
from typing import Any

import torch

from opwright.runtime import abi
from opwright.runtime.python.accelerator import running_on
from opwright.runtime.python.exports import exported
from opwright.runtime.python.gemm import GEMM, gemm
from opwright.runtime.python.interrupts import Mark, note

_PARALLEL_FOR = ctypes.CFUNCTYPE(None, c_int64, c_int64, c_int64, c_void_p, Mark)
_PIECE = ctypes.CFUNCTYPE(None, c_int64, c_int64, c_void_p)
# What the kernel gave takes three arguments; one more, in a register, does no harm (see _piece).
_BODY = ctypes.CFUNCTYPE(None, c_void_p, c_int64, c_int64, c_void_p)
_NUM_THREADS = ctypes.CFUNCTYPE(c_int32)
_ALLOCATE = ctypes.CFUNCTYPE(c_void_p, c_size_t, Mark)
_RELEASE = ctypes.CFUNCTYPE(None, c_void_p, c_void_p)

_blocks: dict[int | None, torch.Tensor] = {}  # workspaces in use, by address


@functools.cache
def _torch_parallel_for() -> Any | None:
    return exported("torch_parallel_for", c_int32, c_int64, c_int64, c_int64, _PIECE, c_void_p)


def _piece(body: int, context: int | None) -> Any:
    """Calls ``body(context, begin, end)``. PyTorch's order of arguments is (begin, end, context).

    Without a line of Python: in the main thread a signal could be raised there, and the piece be left out.
    """
    return _PIECE(functools.partial(_BODY(body), context))


def _parallel_for(begin: int, end: int, grain: int, body: int, context: Mark) -> None:
    try:
        piece = _piece(body, context.value)
        # Pieces in other threads wouldn't know that the call is another device's.
        loop = _torch_parallel_for() if running_on().type == "cpu" else None
        if begin < end and (loop is None or loop(begin, end, max(grain, 1), piece, None) != 0):
            piece(begin, end, None)  # refused before anything ran: bodies don't throw
    except BaseException as error:  # noqa: BLE001 - the kernel is the caller
        note(error)
    finally:
        context.reached_end = True


def _allocate(size: int, stream: Mark) -> int | None:
    """PyTorch aligns what it allocates on the CPU to 64 bytes."""
    address = None
    try:
        block = torch.empty(size, dtype=torch.uint8, device=running_on())
        address = block.data_ptr()
        _blocks[address] = block
    except (RuntimeError, MemoryError, TypeError, OverflowError):
        address = None  # the kernel says it in its own words
    except BaseException as error:  # noqa: BLE001 - the kernel is the caller
        note(error)
    finally:
        stream.reached_end = True
    return address


@functools.cache
def host() -> abi.Host:
    """The table. It and what is in it live for ever: libraries keep its address."""
    num_threads = exported("_ZN2at15get_num_threadsEv", c_int32)  # at::get_num_threads()
    functions = [
        _PARALLEL_FOR(_parallel_for),
        num_threads or _NUM_THREADS(torch.get_num_threads),
        _ALLOCATE(_allocate),
        _RELEASE(_blocks.pop),  # called with (memory, stream), which is (key, default)
        GEMM(gemm),
    ]
    table = abi.Host(ctypes.sizeof(abi.Host), abi.VERSION, 0, *map(abi.address, functions))
    table.kept = functions
    return table
