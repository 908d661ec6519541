"""Tensors of all types, shapes and layouts, and how two of them are compared."""

from __future__ import annotations

from collections.abc import Iterator

import torch

DTYPES = {
    "Double": torch.float64,
    "Float": torch.float32,
    "Long": torch.int64,
    "Int": torch.int32,
    "Short": torch.int16,
    "Char": torch.int8,
    "Byte": torch.uint8,
}
SHAPES = ((0,), (1,), (4,), (2, 3), (0, 3), (3, 1), (2, 1, 3), (1, 1), (2, 3, 1, 2), (2, 2, 1, 3, 2))


def numbered(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """Elements 1, 2, 3... in rows."""
    count = int(torch.tensor(shape).prod())
    return torch.arange(1, count + 1).to(dtype).reshape(shape)


def layouts(shape: tuple[int, ...], dtype: torch.dtype) -> Iterator[torch.Tensor]:
    """The same values in several layouts: rows, columns, with an offset and gaps, repeated."""
    values = numbered(shape, dtype)
    yield values
    if len(shape) > 1:
        yield values.permute(*reversed(range(len(shape)))).contiguous().permute(*reversed(range(len(shape))))
    wide = torch.zeros(*(n + 2 for n in shape), dtype=dtype)
    inner = wide[tuple(slice(1, n + 1) for n in shape)]
    inner.copy_(values)
    yield inner
    yield numbered((1, *shape[1:]), dtype).expand(shape)


def tensors(dtype: torch.dtype) -> Iterator[torch.Tensor]:
    """Every shape in every layout."""
    for shape in SHAPES:
        yield from layouts(shape, dtype)


def typed(storage: torch.UntypedStorage, dtype: torch.dtype) -> torch.storage.TypedStorage:
    """A typed storage, as old code has it, without a warning that it is old."""
    return torch.storage.TypedStorage(wrap_storage=storage, dtype=dtype, _internal=True)


def longs(*values: int) -> torch.storage.TypedStorage:
    """A storage of sizes."""
    return typed(torch.tensor(values, dtype=torch.int64).untyped_storage(), torch.int64)


def elements(storage: torch.storage.TypedStorage) -> list[float]:
    """What is in it."""
    return torch.empty(0, dtype=storage.dtype).set_(storage._untyped_storage).tolist()


def assert_same(ours: torch.Tensor, expected: torch.Tensor, *, place: bool = True) -> None:
    """The same shape, values, and (`place`) memory, offset and strides; TH has (1,) where torch has ()."""
    expected = expected.reshape(1) if expected.dim() == 0 else expected
    assert ours.dtype == expected.dtype
    assert ours.shape == expected.shape
    assert torch.equal(ours, expected)
    if place and expected.numel():
        assert ours.untyped_storage().data_ptr() == expected.untyped_storage().data_ptr()
        assert ours.storage_offset() == expected.storage_offset()
        assert strides(ours) == strides(expected)


def strides(t: torch.Tensor) -> list[int]:
    """The strides that matter: of dimensions with more than one element."""
    return [stride for stride, size in zip(t.stride(), t.shape, strict=True) if size > 1]
