"""TH's tensors against torch's: access, creation, shapes and views, for all types and layouts."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import cffi
import pytest
import torch

from tests.legacy.extensions import Extension, FatalError
from tests.legacy.tensors import DTYPES, assert_same, elements, layouts, longs, numbered, tensors, typed

pytestmark = pytest.mark.native
Functions = Callable[..., Any]
NULL = cffi.FFI().NULL


@pytest.fixture(params=list(DTYPES))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def tensor(th: Extension, name: str) -> Functions:
    """``tensor("newSelect", t, 0, 1)``."""
    return lambda function, *arguments: getattr(th, f"TH{name}Tensor_{function}")(*arguments)


@pytest.fixture
def storage(th: Extension, name: str) -> Functions:
    return lambda function, *arguments: getattr(th, f"TH{name}Storage_{function}")(*arguments)


def with_dimensions(dtype: torch.dtype) -> Iterator[torch.Tensor]:
    """All but (0,), which has none in TH."""
    return (t for t in tensors(dtype) if t.shape != (0,))


def test_access(tensor: Functions, th: Extension, name: str) -> None:
    for t in tensors(DTYPES[name]):
        dimensions = 0 if t.shape == (0,) else t.dim()
        assert tensor("nDimension", t) == dimensions
        assert [tensor("size", t, d) for d in range(dimensions)] == list(t.shape)[:dimensions]
        assert [tensor("stride", t, d) for d in range(dimensions)] == list(t.stride())[:dimensions]
        assert tensor("nElement", t) == tensor("numel", t) == t.numel()
        assert tensor("storageOffset", t) == t.storage_offset()
        address = int(th.ffi.cast("uintptr_t", tensor("data", t)))
        assert not t.numel() or address == t.data_ptr()
        for wrong in (-1, dimensions):
            for function in ("size", "stride"):
                with pytest.raises(FatalError, match=rf"invalid argument 2: dimension {wrong} out of range of"):
                    tensor(function, t, wrong)


def test_storages_of_sizes(tensor: Functions, name: str) -> None:
    for t in with_dimensions(DTYPES[name]):
        assert elements(tensor("newSizeOf", t)) == list(t.shape)
        assert elements(tensor("newStrideOf", t)) == list(t.stride())
        assert tensor("isSize", t, longs(*t.shape)) == 1
        assert tensor("isSize", t, longs(*t.shape, 1)) == 0


def test_the_storage(tensor: Functions, storage: Functions, name: str) -> None:
    for t in tensors(DTYPES[name]):
        found = tensor("storage", t)
        assert found.dtype == t.dtype
        assert found._untyped_storage.data_ptr() == t.untyped_storage().data_ptr()
        assert storage("size", found) == t.untyped_storage().nbytes() // t.element_size()


def test_predicates(tensor: Functions, name: str) -> None:
    some = list(tensors(DTYPES[name]))
    for t in some:
        assert tensor("isContiguous", t) == t.is_contiguous()
        assert tensor("isSetTo", t, t) == tensor("isSetTo", t, t.detach()) == 1
        assert tensor("isSetTo", t, t.clone()) == 0
        dense = t.dim() == 2 and min(t.shape) > 1 and t.stride() == (1, t.shape[0])
        assert t.dim() != 2 or tensor("isTransposed", t) == dense
    for one, other in itertools.product(some, some):
        assert tensor("isSameSizeAs", one, other) == (one.shape == other.shape)


def test_descriptions(tensor: Functions, th: Extension, name: str) -> None:
    for t in with_dimensions(DTYPES[name]):
        expected = f"torch.{name}Tensor of size {'x'.join(map(str, t.shape))}"
        assert th.ffi.string(tensor("desc", t).str).decode() == expected
    assert th.ffi.string(tensor("desc", torch.empty(0, dtype=DTYPES[name])).str).decode().endswith("with no dimension")
    long = tensor("desc", torch.empty((1000000,) * 3 + (0,) * 9, dtype=DTYPES[name]))
    assert th.ffi.string(long.str).decode().endswith("...")
    assert th.ffi.string(th.THLongStorage_sizeDesc(longs(2, 3)).str) == b"[2 x 3]"


def test_elements(tensor: Functions, name: str) -> None:
    for t in tensors(DTYPES[name]):
        if not 1 <= t.dim() <= 4 or not t.numel():
            continue
        rank = t.dim()
        for index in itertools.product(*map(range, t.shape)):
            assert tensor(f"get{rank}d", t, *index) == t[index].item()
        last = tuple(n - 1 for n in t.shape)
        tensor(f"set{rank}d", t, *last, 77)
        assert t[last].item() == 77
        for wrong in ((*last[:-1], t.shape[-1]), (-1, *last[1:])):
            with pytest.raises(FatalError, match="invalid argument 2: out of range"):
                tensor(f"get{rank}d", t, *wrong)
            with pytest.raises(FatalError, match="invalid argument 2: out of range"):
                tensor(f"set{rank}d", t, *wrong, 1)
        with pytest.raises(FatalError, match="invalid argument 1: tensor must have"):
            tensor(f"get{rank % 4 + 1}d", t, *([0] * (rank % 4 + 1)))


def test_one_element(tensor: Functions, name: str) -> None:
    t = torch.tensor(5, dtype=DTYPES[name])
    assert tensor("get0d", t) == 5
    tensor("set0d", t, 6)
    assert t.item() == 6
    assert t.dim() == 0
    with pytest.raises(FatalError, match="must have one element"):
        tensor("get0d", torch.ones(2, dtype=DTYPES[name]))


def test_new(tensor: Functions, name: str) -> None:
    dtype = DTYPES[name]
    assert tensor("new").shape == (0,)
    for rank in range(1, 6):
        sizes = tuple(range(2, 2 + rank))
        for made in (
            tensor(f"newWithSize{rank}d", *sizes),
            tensor("newWithSize", longs(*sizes), NULL),
        ):
            assert made.shape == sizes
            assert made.dtype == dtype
            assert made.is_contiguous()
            made.fill_(1)  # all of it is there
    assert tensor("newWithSize1d", 0).shape == (0,)
    assert tensor("newWithSize3d", 2, 0, 3).shape == (2, 0, 3)
    with pytest.raises(FatalError, match="negative size: -2"):
        tensor("newWithSize2d", 3, -2)
    with pytest.raises(FatalError, match="doesn't fit in memory"):
        tensor("newWithSize2d", 1 << 40, 1 << 40)


def test_views_of_all(tensor: Functions, name: str) -> None:
    for t in with_dimensions(DTYPES[name]):
        assert_same(tensor("newWithTensor", t), t)
        clone = tensor("newClone", t)
        assert_same(clone, t, place=False)
        assert clone.is_contiguous()
        assert not t.numel() or clone.data_ptr() != t.data_ptr()
        contiguous = tensor("newContiguous", t)
        assert_same(contiguous, t, place=t.is_contiguous())
        assert contiguous.is_contiguous()


def in_place_and_new(tensor: Functions, function: str, t: torch.Tensor, *arguments: int) -> Iterator[torch.Tensor]:
    """The view as a new tensor, in another one, and in the tensor itself."""
    if function not in ("squeeze", "squeeze1d", "unsqueeze1d"):
        yield tensor(f"new{function[0].upper()}{function[1:]}", t, *arguments)
    other = torch.ones(2, 2, dtype=t.dtype)
    tensor(function, other, t, *arguments)
    yield other
    itself = t.detach()
    tensor(function, itself, NULL, *arguments)
    yield itself


def test_narrow(tensor: Functions, name: str) -> None:
    for t in with_dimensions(DTYPES[name]):
        for d, size in enumerate(t.shape):
            for first, length in itertools.combinations(range(size + 1), 2):
                for ours in in_place_and_new(tensor, "narrow", t, d, first, length - first):
                    assert_same(ours, t.narrow(d, first, length - first))
            for wrong in ((-1, 1), (size, 1), (0, size + 1), (0, 0), (0, 1 << 62)):
                with pytest.raises(FatalError, match=r"invalid argument [45]: out of range"):
                    tensor("newNarrow", t, d, *wrong)


def test_select(tensor: Functions, name: str) -> None:
    for t in with_dimensions(DTYPES[name]):
        if t.dim() == 1:
            with pytest.raises(FatalError, match="cannot select on a vector"):
                tensor("newSelect", t, 0, 0)
            continue
        for d, size in enumerate(t.shape):
            for index in range(size):
                for ours in in_place_and_new(tensor, "select", t, d, index):
                    assert_same(ours, t.select(d, index))
            for wrong in (-1, size):
                with pytest.raises(FatalError, match="invalid argument 4: out of range"):
                    tensor("newSelect", t, d, wrong)


def test_transpose(tensor: Functions, name: str) -> None:
    for t in with_dimensions(DTYPES[name]):
        for one, other in itertools.product(range(t.dim()), repeat=2):
            for ours in in_place_and_new(tensor, "transpose", t, one, other):
                assert_same(ours, t.transpose(one, other))
        with pytest.raises(FatalError, match="out of range"):
            tensor("newTranspose", t, 0, t.dim())


def test_unfold(tensor: Functions, name: str) -> None:
    for t in with_dimensions(DTYPES[name]):
        for d, size in enumerate(t.shape):
            for length, step in itertools.product(range(1, size + 1), (1, 2, 5)):
                for ours in in_place_and_new(tensor, "unfold", t, d, length, step):
                    assert_same(ours, t.unfold(d, length, step))
            for wrong in ((0, 1), (size + 1, 1), (max(size, 1), 0)):
                with pytest.raises(FatalError, match=r"invalid argument [34]"):
                    tensor("newUnfold", t, d, *wrong)


def test_squeeze(tensor: Functions, name: str) -> None:
    for t in with_dimensions(DTYPES[name]):
        for ours in in_place_and_new(tensor, "squeeze", t):
            assert_same(ours, t.squeeze())
        for d in range(t.dim()):
            for ours in in_place_and_new(tensor, "squeeze1d", t, d):
                assert_same(ours, t.squeeze(d))
        for d in range(t.dim() + 1):
            for ours in in_place_and_new(tensor, "unsqueeze1d", t, d):
                assert_same(ours, t.unsqueeze(d))
        with pytest.raises(FatalError, match="dimension out of range"):
            tensor("unsqueeze1d", t, t, t.dim() + 1)


def test_expand(tensor: Functions, name: str) -> None:
    for t in with_dimensions(DTYPES[name]):
        sizes = [2, *(3 if size == 1 else size for size in t.shape)]
        other = torch.ones(1, dtype=t.dtype)
        tensor("expand", other, t, longs(*sizes))
        for ours in (other, tensor("newExpand", t, longs(*sizes))):
            assert_same(ours, t.expand(sizes))
        if max(t.shape) > 1:
            with pytest.raises(FatalError, match="must match the existing size"):
                tensor("newExpand", t, longs(*(size + 2 for size in t.shape)))
        with pytest.raises(FatalError, match="greater or equal"):
            tensor("newExpand", t, longs())


def test_view(tensor: Functions, name: str) -> None:
    t = numbered((2, 6), DTYPES[name])
    for sizes in ((12,), (3, 4), (2, 2, 3), (-1, 3)):
        assert_same(tensor("newView", t, longs(*sizes)), t.view(sizes))
    with pytest.raises(FatalError, match="view size is not compatible"):
        tensor("newView", t.t(), longs(12))
    with pytest.raises(FatalError, match="invalid for input of size"):
        tensor("newView", t, longs(5))
    assert_same(tensor("newFoldBatchDim", t.view(2, 3, 2)), t.view(6, 2))


def test_resize(tensor: Functions, name: str) -> None:
    sizes = ((7,), (2, 3), (2, 0), (0,), (1, 2, 3), (2, 1, 3, 2), (2, 2, 1, 3, 2))
    for shape, new in itertools.product(((0,), (2, 3), (4,), (2, 3, 1, 2)), sizes):
        for t in list(layouts(shape, DTYPES[name])):
            twin = t.clone().contiguous() if t.shape == new else t.clone()
            before, dense = t.clone(), t.is_contiguous()
            offset, memory = t.storage_offset(), t.untyped_storage()
            tensor(f"resize{len(new)}d", t, *new)
            assert t.shape == new
            assert t.storage_offset() == offset
            assert t.untyped_storage().data_ptr() == memory.data_ptr()  # the storage grows, and is never another one
            if t.shape == shape:
                assert torch.equal(t, before)  # and keeps its strides
            else:
                assert t.is_contiguous()
            if dense and not offset:
                twin.resize_(new)
                count = min(before.numel(), t.numel())
                assert torch.equal(t.reshape(-1)[:count], twin.reshape(-1)[:count])


def test_resize_with_strides(tensor: Functions, name: str) -> None:
    t = torch.empty(0, dtype=DTYPES[name])
    tensor("resize", t, longs(2, 3), longs(1, 2))
    assert (t.shape, t.stride()) == ((2, 3), (1, 2))
    tensor("resize", t, longs(2, 3), longs(-1, -1))
    assert t.stride() == (1, 2)
    tensor("resize", t, longs(4, 3), longs(-1, -1))
    assert t.stride() == (3, 1)
    with pytest.raises(FatalError, match="inconsistent size"):
        tensor("resize", t, longs(4, 3), longs(1))
    with pytest.raises(FatalError, match="doesn't fit in memory"):
        tensor("resize", t, longs(4, 3), longs(1 << 62, 1))
    assert t.shape == (4, 3)


def test_resize_as(tensor: Functions, name: str) -> None:
    for like in tensors(DTYPES[name]):
        t = torch.ones(2, dtype=DTYPES[name])
        tensor("resizeAs", t, like)
        assert t.shape == like.shape


def test_what_is_not_ours_keeps_its_size(tensor: Functions, name: str) -> None:
    memory = bytearray(64)
    t = torch.frombuffer(memory, dtype=DTYPES[name])
    with pytest.raises(FatalError, match="can't be resized"):
        tensor("resize1d", t, 65)
    tensor("resize1d", t, 2)
    assert t.shape == (2,)


def test_set(tensor: Functions, name: str) -> None:
    for source in tensors(DTYPES[name]):
        t = torch.ones(2, dtype=source.dtype)
        tensor("set", t, source)
        assert_same(t, source)
        tensor("set", t, t)
        assert_same(t, source)


def test_set_storage(tensor: Functions, storage: Functions, name: str) -> None:
    source = numbered((24,), DTYPES[name])
    memory = typed(source.untyped_storage(), source.dtype)
    for sizes, strides in (
        ((4,), (2,)),
        ((2, 3), (3, 1)),
        ((2, 3), (1, 2)),
        ((2, 1, 3), (6, 3, 1)),
        ((1, 2, 2, 2), (9, 4, 2, 1)),
    ):
        pairs = [number for pair in zip(sizes, strides, strict=True) for number in pair]
        expected = source.as_strided(sizes, strides, 5)
        t = torch.empty(0, dtype=source.dtype)
        tensor(f"setStorage{len(sizes)}d", t, memory, 5, *pairs)
        assert_same(t, expected)
        assert_same(tensor(f"newWithStorage{len(sizes)}d", memory, 5, *pairs), expected)
        t = torch.empty(0, dtype=source.dtype)
        tensor("setStorage", t, memory, 5, longs(*sizes), longs(*strides))
        assert_same(t, expected)
        assert_same(tensor("newWithStorage", memory, 5, longs(*sizes), longs(*strides)), expected)
    with pytest.raises(FatalError, match="can't begin at offset -1"):
        tensor("setStorage1d", source.clone(), memory, -1, 2, 1)
    grown = tensor("newWithStorage1d", memory, 20, 10, 1)
    assert grown.shape == (10,)
    assert storage("size", memory) == 30


def test_free_copy_to(tensor: Functions, name: str) -> None:
    """Its use: what newContiguous returned is copied back and freed. Here C has no tensor of its own to free."""
    for t in with_dimensions(DTYPES[name]):
        if t.is_contiguous() or 0 in t.stride():
            continue
        target = torch.zeros_like(t)
        before = t.clone()
        tensor("retain", t)
        tensor("freeCopyTo", t, target)
        assert torch.equal(target, before)


def test_storages(storage: Functions, name: str) -> None:
    dtype = DTYPES[name]
    assert storage("size", storage("new")) == 0
    assert storage("elementSize") == torch.empty(0, dtype=dtype).element_size()
    for count in range(1, 5):
        assert elements(storage(f"newWithSize{count}", *range(3, 3 + count))) == list(range(3, 3 + count))
    made = storage("newWithSize", 5)
    assert made.dtype == dtype
    storage("fill", made, 7)
    assert elements(made) == [7] * 5
    storage("set", made, 2, 9)
    assert storage("get", made, 2) == 9
    storage("resize", made, 7)
    assert elements(made)[:5] == [7, 7, 9, 7, 7]
    storage("resize", made, 3)
    assert elements(made) == [7, 7, 9]
    for wrong in (-1, 3):
        with pytest.raises(FatalError, match=f"invalid argument 2: out of bounds: element {wrong} of a storage of 3"):
            storage("get", made, wrong)
        with pytest.raises(FatalError, match="out of bounds"):
            storage("set", made, wrong, 0)
    for size in (-1, 1 << 61):
        with pytest.raises(FatalError):
            storage("newWithSize", size)
        with pytest.raises(FatalError):
            storage("resize", made, size)
    assert elements(made) == [7, 7, 9]


def test_storages_change_places(storage: Functions, name: str) -> None:
    one, other = storage("newWithSize2", 1, 2), storage("newWithSize1", 3)
    storage("swap", one, other)
    # Python's objects stay with their memory; C's structs live for one call
    assert (elements(one), elements(other)) == ([1, 2], [3])


def test_copies_of_storages(th: Extension, storage: Functions, name: str) -> None:
    for source in DTYPES:
        theirs = getattr(th, f"TH{source}Storage_newWithSize3")(1, 2, 100)
        ours = storage("newWithSize", 3)
        storage(f"copy{source}", ours, theirs)
        assert elements(ours) == [1, 2, 100]
    with pytest.raises(FatalError, match="size mismatch: 3 elements into 2"):
        storage("copy", storage("newWithSize", 2), ours)


def test_inferred_sizes(th: Extension) -> None:
    assert elements(th.THLongStorage_newInferSize(longs(2, -1, 3), 24)) == [2, 4, 3]
    assert elements(th.THLongStorage_newInferSize(longs(2, 3), 6)) == [2, 3]
    for sizes, count in (((2, -1, -1), 24), ((5, -1), 24), ((2, 3), 7), ((0, -1), 0)):
        with pytest.raises(FatalError, match="invalid argument"):
            th.THLongStorage_newInferSize(longs(*sizes), count)
