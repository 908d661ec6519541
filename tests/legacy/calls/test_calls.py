"""Calls from Python to C: what C sees, what Python sees afterwards, and who owns what."""

from __future__ import annotations

import gc
import re
from pathlib import Path

import cffi
import pytest
import torch

from opwright.legacy.calls import build_native, wrap_function
from tests.legacy.extensions import Extension, FatalError
from tests.legacy.tensors import DTYPES, elements, typed

pytestmark = pytest.mark.native


def test_a_call(probe: Extension) -> None:
    for shape in ((4,), (2, 3), (), (0,), (0, 3), (2, 1, 3, 1, 2)):
        a, b, out = torch.randn(shape), torch.randn(shape), torch.empty(0)
        assert probe.add_forward(a, b, out) == 1
        assert torch.equal(out, (a + b).reshape(shape or (1,)))
        assert probe.add_forward(a.mT.clone().mT if a.dim() > 1 else a, b, out) == 1
        assert torch.equal(out, (a + b).reshape(shape or (1,)))
    assert probe.add_forward(torch.ones(2), torch.ones(3), out) == 0
    assert probe.nothing() is None
    assert probe.mean(torch.arange(5.0)) == 2
    assert probe.mean(torch.arange(10.0)[::2]) == 4


def test_the_module_is_built_once_for_every_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built = build_native()
    monkeypatch.chdir(tmp_path)
    assert build_native().path == built.path


def test_other_arguments_pass_untouched(probe: Extension) -> None:
    other = cffi.FFI()
    text = other.new("char[]", b"Az")
    assert probe.first_byte(b"Az") == probe.first_byte(text) == 65
    assert probe.pointer(text) == other.cast("void *", text)
    assert probe.calls_back(probe.ffi.callback("int(int)", lambda n: n + 1), 4) == 5
    assert probe.lib.PROBE_ANSWER == 42


def test_variadic_functions(probe: Extension) -> None:
    """cffi makes no Python function of these."""
    assert probe.sum_of(3, *(probe.ffi.cast("int", n) for n in (1, 2, 3))) == 6
    for _ in range(2000):
        with pytest.raises(FatalError, match="error 3 at"):
            probe.made_or_error(3)
    assert probe.made_or_error(0).tolist() == [4, 4]


@pytest.mark.slow
def test_python_sees_shapes_that_c_made(probe: Extension, th: Extension) -> None:
    t = torch.arange(6.0).reshape(2, 3)
    twin = t.view(-1)
    th.THFloatTensor_transpose(t, cffi.FFI.NULL, 0, 1)
    assert (t.shape, t.stride()) == ((3, 2), (1, 3))
    assert torch.equal(twin, torch.arange(6.0))
    th.THFloatTensor_resize2d(t, 5, 4)
    assert t.shape == (5, 4)
    assert t.untyped_storage().data_ptr() == twin.untyped_storage().data_ptr()
    assert torch.equal(twin, torch.arange(6.0))
    one, other = torch.ones(2), torch.zeros(3, 4)
    places = one.data_ptr(), other.data_ptr()
    probe.swap_contents(one, other)
    assert (one.shape, other.shape) == ((3, 4), (2,))
    assert (other.data_ptr(), one.data_ptr()) == places
    assert other.tolist() == [1, 1]


def test_a_tensor_without_dimensions_stays_one(probe: Extension, th: Extension) -> None:
    t = torch.tensor(3.0)
    th.THFloatTensor_set1d(t, 0, 4.0)
    assert (t.dim(), t.item()) == (0, 4)
    th.THFloatTensor_resize1d(t, 1)
    assert t.dim() == 0
    th.THFloatTensor_resize2d(t, 1, 1)
    assert t.shape == (1, 1)


def test_one_tensor_is_one_in_c(probe: Extension) -> None:
    a = torch.zeros(4)
    storage = typed(a.untyped_storage(), torch.float32)
    assert probe.identities(a, a, storage) == 1 + 2 + 4 + 8
    assert probe.identities(a, a[1:], storage) == 2 + 4 + 8
    assert probe.identities(a, torch.zeros(4), storage) == 4
    assert probe.identities(torch.zeros(4), a, storage) == 8
    assert probe.identities(a, a.detach(), typed(torch.zeros(1).untyped_storage(), torch.float32)) == 2


def test_many_arguments(probe: Extension) -> None:
    some = [torch.zeros(n) for n in range(14)]
    assert probe.number_of_arguments_on_many(*some) == sum(n << n for n in range(14))


def test_a_tensor_made_in_c_is_pythons(probe: Extension) -> None:
    t = probe.made(3, 2.5)
    assert isinstance(t, torch.Tensor)
    assert t.tolist() == [2.5] * 3
    t.resize_(5).fill_(1)
    assert probe.made(0, 0.0).shape == (0,)
    assert probe.no_tensor() is None
    source = torch.arange(6.0).reshape(2, 3)
    row = probe.row(source, 1)
    row[0] = 9
    assert source[1, 0] == 9
    del source
    assert row.tolist() == [9, 4, 5]
    assert probe.doubled(torch.ones(2, dtype=torch.float64)).tolist() == [2, 2]
    kept = probe.made_and_kept(4)
    assert probe.kept_sum() == 4
    kept.fill_(2)
    assert probe.kept_sum() == 8
    probe.unkeep()
    assert kept.tolist() == [2] * 4


def test_an_argument_that_is_returned_is_itself(probe: Extension) -> None:
    t = torch.ones(3)
    for _ in range(3):
        assert probe.same(t) is t
        assert probe.same_retained(t) is t
    storage = typed(t.untyped_storage(), torch.float32)
    assert probe.same_storage(storage) is storage


def test_storages(probe: Extension) -> None:
    t = torch.zeros(3)
    found = probe.storage_of(t)
    assert found.dtype == torch.float32
    assert found._untyped_storage.data_ptr() == t.data_ptr()
    probe.storage_of_retained(t)
    probe.fill_storage(found, 4.0)
    assert t.tolist() == [4] * 3
    made = probe.made_storage(2)
    probe.resize_storage(made, 4)
    assert elements(made)[:2] == [3, 3]
    assert len(elements(made)) == 4
    with pytest.raises(
        TypeError, match=r"'struct THFloatStorage \*' must be a pointer to same type, not cdata 'struct THByte"
    ):
        probe.fill_storage(t.untyped_storage(), 1.0)  # of bytes: it has no other type
    with pytest.raises(TypeError, match="not cdata 'struct THFloatStorage"):
        probe.mean(found)


@pytest.mark.slow
def test_what_c_keeps(probe: Extension) -> None:
    t = torch.ones(3)
    probe.keep(t)
    del t
    gc.collect()
    assert probe.kept_sum() == 3
    probe.unkeep()
    t = torch.ones(2)
    probe.keep_storage(t)
    assert probe.mean(t) == 1
    del t
    probe.unkeep_storage()


def test_memory_that_moves_under_c(probe: Extension) -> None:
    """What C code keeps follows its memory, whoever resizes it; so do views of other types within one call."""
    t = torch.ones(3)
    probe.keep(t)
    t.resize_(1 << 20)
    t[:3] = 2
    assert probe.kept_sum() == 6
    probe.resize_storage(typed(t.untyped_storage(), torch.float32), 1 << 21)
    t[:3] = 3
    assert probe.kept_sum() == 9
    probe.unkeep()
    floats = torch.zeros(4)
    assert probe.resize_and_read(floats, floats.view(torch.int32), 1 << 20, 7) == 7


def test_what_c_frees_too_often(probe: Extension) -> None:
    t = torch.arange(3.0)
    for times in (1, 2, 5):
        probe.free_too_often(t, times)
        probe.free_storage_too_often(t, times)
        assert t.tolist() == [0, 1, 2]
        assert probe.mean(t) == 1


def test_what_c_writes_into_a_struct(probe: Extension) -> None:
    t = torch.arange(4.0)
    probe.lie(t, 2)
    assert t.tolist() == [0, 1]
    for size in (5, -1, 1 << 62):
        with pytest.raises(FatalError, match="reach beyond its memory"):
            probe.lie(t, size)
        assert t.tolist() == [0, 1]
    probe.lie_about_offset(t, 2)
    assert t.tolist() == [2, 3]
    for offset in (3, -1, 1 << 62):
        with pytest.raises(FatalError, match="reach beyond its memory"):
            probe.lie_about_offset(t, offset)


def test_types(probe: Extension) -> None:
    for name, dtype in DTYPES.items():
        if name == "Float":
            continue
        expected = "initializer for ctype 'struct THFloatTensor *' must be a pointer to same type, "
        with pytest.raises(TypeError, match=re.escape(f"{expected}not cdata 'struct TH{name}Tensor *'")):
            probe.mean(torch.ones(2, dtype=dtype))
    assert probe.bytes(torch.ones(3, dtype=torch.bool)) == 3
    assert probe.bytes(torch.ones(2, 2, dtype=torch.uint8)) == 4


def test_wrong_calls(probe: Extension) -> None:
    t = torch.ones(2)
    for call in (
        lambda: probe.add_forward(t, t),
        lambda: probe.add_forward(t, t, t, t),
        probe.mean,
        lambda: probe.mean(t, t),
        lambda: probe.nothing(t),
        lambda: probe.mean(t=t),
        lambda: probe.made("3", 1.0),
        lambda: probe.made(t, 1.0),
        lambda: probe.mean(None),
        lambda: probe.mean([1.0, 2.0]),
    ):
        with pytest.raises(TypeError):
            call()  # type: ignore[no-untyped-call]
    with pytest.raises(OverflowError):
        probe.made(1 << 70, 1.0)
    with pytest.raises(TypeError, match="is no function of an extension"):
        wrap_function(lambda: None, probe.ffi)
