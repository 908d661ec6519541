"""The idioms of 2017 to 2019: each as it was, and all gone when it is taken back."""

# mypy: disable-error-code="override,no-untyped-call,attr-defined"

from __future__ import annotations

import copy
import importlib
import io
import math
import pickle
import py_compile
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.autograd import Function, Variable

from opwright.errors import ArgumentError
from opwright.legacy import autograd, idioms
from opwright.legacy.idioms.async_keyword import compile_source, modern_source
from opwright.legacy.idioms.script import needed

Undo = list[Callable[[], None]]


@pytest.fixture(autouse=True)
def undo() -> Iterator[Undo]:
    applied = [change.apply() for change in (*autograd.CHANGES, *idioms.CHANGES)]
    yield applied
    while applied:
        applied.pop()()


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, str], Any]]:
    """Write a module, and import it."""
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)

    def of(name: str, source: str) -> Any:
        (tmp_path / f"{name}.py").write_text(source)
        importlib.invalidate_caches()
        return importlib.import_module(name)

    yield of
    for name in set(sys.modules) - before:
        if getattr(sys.modules[name], "__file__", None) and str(tmp_path) in str(sys.modules[name].__file__):
            del sys.modules[name]


def variable(*args: Any, **named: Any) -> Any:
    return Variable(*args, **named)


# Variable


def test_variable() -> None:
    x = torch.ones(3)
    assert not variable(x).requires_grad
    assert variable(x, requires_grad=True).requires_grad
    assert variable(x, True).requires_grad
    assert variable(data=x, requires_grad=True).requires_grad
    assert not variable(x, requires_grad=True).volatile
    assert variable(x).data_ptr() == x.data_ptr()
    assert variable().numel() == 0
    assert isinstance(x, Variable)
    assert isinstance(variable(x, volatile=True), Variable)
    assert not isinstance(1, Variable)
    assert importlib.import_module("torch.autograd.variable").Variable is Variable


def test_what_is_computed_from_a_volatile_variable() -> None:
    layer = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.ReLU(), nn.Linear(3, 2))
    x = torch.randn(5, 4)
    volatile = variable(x, volatile=True)
    result = layer(volatile)
    assert (result.volatile, result.requires_grad, result.grad_fn) == (True, False, None)
    assert layer(variable(x)).requires_grad
    torch.testing.assert_close(result.data, layer(x).detach())
    loss = nn.functional.cross_entropy(result, variable(torch.tensor([0, 1, 0, 1, 0])))
    assert loss.volatile
    with pytest.raises(RuntimeError, match="does not require grad"):
        loss.backward()


@pytest.mark.parametrize(
    "function",
    [
        lambda v, w: v + w,
        lambda v, w: w + v,
        lambda v, w: torch.cat([w, v]),
        lambda v, w: torch.max(v * w, 1)[0],
        lambda v, w: w.index_select(0, v[0].long() % 2),
        lambda v, w: w[v.long() % 2],
        lambda v, w: (v @ w.t()).view(-1).clone().sum(),
        lambda v, w: torch.stack(torch.split(v, 1) + torch.split(w, 1)),
        lambda v, w: v.detach() * w,
        lambda v, w: copy.deepcopy(v) * w,
        lambda v, w: v.new(w.size()).fill_(1) * w,
    ],
)
def test_volatile_goes_on_whatever_else_requires_grad(function: Callable[[Any, Any], Any]) -> None:
    x, w = torch.ones(2, 2), torch.ones(2, 2, requires_grad=True)
    result = function(variable(x, volatile=True), w)
    assert (result.volatile, result.requires_grad) == (True, False)
    assert torch.equal(result.data, function(x, w).detach())


def test_data_of_a_volatile_variable_is_an_ordinary_tensor() -> None:
    volatile = variable(torch.ones(2), volatile=True)
    assert type(volatile.data) is torch.Tensor
    weight = torch.ones(2, requires_grad=True)
    assert (variable(volatile.data) * weight).requires_grad
    volatile.data.fill_(3)
    assert volatile.tolist() == [3, 3]


def test_a_tensor_that_is_overwritten_stays_what_it_was() -> None:
    mean = torch.zeros(2)
    mean.mul_(0.9).add_(variable(torch.ones(2), volatile=True))
    assert not mean.volatile
    assert (mean * torch.ones(2, requires_grad=True)).requires_grad


def test_volatile_of_a_tensor_that_is_there() -> None:
    x, weight = torch.ones(2), torch.ones(2, requires_grad=True)
    x.volatile = True
    assert (x * weight).volatile
    x.volatile = False
    assert type(x) is torch.Tensor
    assert (x * weight).requires_grad
    for wrong in (weight, nn.Parameter(torch.ones(1))):
        with pytest.raises(ArgumentError, match="that requires grad"):
            wrong.volatile = True
        wrong.volatile = False


def test_volatile_and_requires_grad() -> None:
    with pytest.raises(ValueError, match="one of the two"):
        variable(torch.ones(1), requires_grad=True, volatile=True)


def test_volatile_into_functions() -> None:
    class Scale(Function):
        def forward(self, x: Any, w: Any) -> Any:
            return x * w, x + w

        def backward(self, *_: Any) -> Any:
            raise AssertionError("nobody asks for it")

    weight = torch.ones(2, requires_grad=True)
    for result in Scale()(variable(torch.ones(2), volatile=True), weight):
        assert (result.volatile, result.requires_grad) == (True, False)


def test_volatile_saved_and_loaded() -> None:
    volatile = variable(torch.arange(3.0), volatile=True)
    file = io.BytesIO()
    torch.save(volatile, file)
    file.seek(0)
    for loaded in (torch.load(file), pickle.loads(pickle.dumps(volatile))):  # noqa: S301
        assert type(loaded) is torch.Tensor
        assert loaded.tolist() == [0, 1, 2]
    assert copy.deepcopy(volatile).volatile


def test_volatile_in_other_hands() -> None:
    volatile = variable(torch.ones(2, 3), volatile=True)
    assert volatile.numpy().sum() == 6
    assert isinstance(volatile, torch.FloatTensor)
    assert volatile.size() == (2, 3)
    assert "1." in repr(volatile)
    assert volatile.data.sum() == 6
    assert torch.is_tensor(volatile)


# x[0] of what has no dimensions


def test_a_number_of_data() -> None:
    weight = torch.tensor([1.0, 2.0], requires_grad=True)
    loss = (weight**2).sum()
    value: Any = loss.data[0]
    assert (value, type(value)) == (5.0, float)
    count: Any = (weight > 1).sum().data[0]
    assert (count, type(count)) == (1, int)
    assert loss.data[-1] == 5
    assert f"{value:.2f}" == "5.00"


def test_of_a_variable_a_variable() -> None:
    weight = torch.tensor([1.0, 2.0], requires_grad=True)
    first = (weight**2).sum()[0]
    assert first.shape == ()
    first.backward()
    assert weight.grad is not None
    assert weight.grad.tolist() == [2, 4]
    assert variable(torch.ones(()), volatile=True)[0].volatile


@pytest.mark.parametrize("index", [1, -2, (0, 0), 0.0, "x"])
def test_other_indices_are_wrong_as_ever(index: Any) -> None:
    with pytest.raises((IndexError, TypeError)):
        torch.ones(())[index]
    with pytest.raises(IndexError):
        torch.ones(2)[2]


def test_indexing_is_what_it_was() -> None:
    x = torch.arange(12).view(3, 4)
    assert x[0].tolist() == [0, 1, 2, 3]
    assert type(x[0][0]) is torch.Tensor
    assert x[1:, ::2].tolist() == [[4, 6], [8, 10]]
    assert x[x > 9].tolist() == [10, 11]
    assert torch.ones(())[None].shape == (1,)
    assert torch.ones(())[...].shape == ()
    assert torch.ones(())[False].shape == (0,)


# .new, torch.testing, gradcheck, torch._six


def test_new() -> None:
    x = torch.ones(2, 3, dtype=torch.float64, requires_grad=True)
    assert x.new().numel() == 0
    assert x.new(4, 5).shape == (4, 5)
    assert x.new(x.size()).dtype == torch.float64
    assert x.new([1, 2]).tolist() == [1, 2]
    assert not x.new(1).requires_grad
    assert x.new().resize_as_(x.data).zero_().shape == x.shape


def test_testing() -> None:
    from torch import testing

    get: Any = testing
    dtypes = get.get_all_dtypes()
    dtypes.remove(torch.half)
    integers = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
    assert dtypes == [*integers, torch.float32, torch.float64]
    assert len(get.get_all_dtypes()) == 8
    assert torch.half not in get.get_all_math_dtypes("cpu")
    assert torch.half in get.get_all_math_dtypes("cuda")
    assert get.get_all_device_types()[0] == "cpu"
    for shape in ((3,), (2, 3), (1, 1, 4)):
        x = torch.randn(shape)
        assert torch.equal(get.make_non_contiguous(x), x)
        assert not get.make_non_contiguous(x).is_contiguous()
    assert torch.equal(get.make_non_contiguous(torch.ones(1)), torch.ones(1))
    assert get.rand_like(x).shape == get.randn_like(x).shape == x.shape
    assert get.is_tensor(x)


def test_gradcheck() -> None:
    gradcheck: Any = importlib.import_module("torch.autograd.gradcheck")
    x = torch.ones(2, 3, requires_grad=True)
    x.sum().backward()
    gradcheck.zero_gradients([x, (x, torch.ones(1))])
    assert x.grad is not None
    assert x.grad.sum() == 0
    assert list(gradcheck.iter_tensors([x, [torch.ones(1)], "text", 3], only_requiring_grad=True)) == [x]
    assert gradcheck.make_jacobian((x, 3, torch.ones(1)), 4)[0].shape == (6, 4)
    assert gradcheck.make_jacobian(3, 4) is None
    assert gradcheck.gradcheck(lambda z: z**2, x.double().detach().requires_grad_())


def test_six() -> None:
    import torch._six as six  # type: ignore[import-not-found]

    assert isinstance("x", six.string_classes)
    assert isinstance(1, six.int_classes)
    assert isinstance([], six.container_abcs.Sequence)
    assert six.inf == math.inf
    assert math.isnan(six.nan)
    assert (six.PY2, six.PY3) == (False, True)
    meta = type("Meta", (type,), {"mark": 1})
    assert type("Class", (six.with_metaclass(meta, dict),), {}).mark == 1
    assert issubclass(six.with_metaclass(meta, dict), dict)
    with pytest.raises(KeyError) as raised:
        six.raise_from(KeyError("x"), ValueError("y"))
    assert isinstance(raised.value.__cause__, ValueError)
    assert six.get_function_from_type(dict, "nothing") is None
    assert six.istuple((1,))
    assert not six.istuple([1])
    assert six.bind_method(lambda self: self + 1, 2, int)() == 3


# async


SOURCE = '''# encoding: utf-8
"""async=True stays in texts."""
async def later(async_=1):
    return async_

def move(x, async=False):  # async=False in a comment
    return x.cuda(async=async) if x.is_cuda else x.clone() if async else x, "async=é"

def both(x): return move(x, async=True), move(x, async = (1 ==
    2))
'''


def test_async_in_a_module(modules: Callable[[str, str], Any], tmp_path: Path) -> None:
    module = modules("old_module", SOURCE)
    x = torch.ones(2)
    (first, text), (second, _) = module.both(x)
    assert first is not x
    assert second is x
    assert text == "async=é"
    assert module.__doc__ == "async=True stays in texts."
    assert not list(tmp_path.glob("__pycache__/old_module*"))
    assert module.move.__code__.co_firstlineno == 6


def test_async_in_a_script() -> None:
    names: dict[str, Any] = {}
    exec(compile_source(SOURCE.encode(), "script.py"), names)  # noqa: S102
    assert names["move"].__code__.co_varnames == ("x", "non_blocking")
    assert names["move"].__code__.co_filename == "script.py"


def test_async_in_the_main_program(tmp_path: Path) -> None:
    script, neighbour = tmp_path / "train.py", tmp_path / "neighbour.py"
    neighbour.write_text("value = 7\n")
    script.write_text(
        "import sys, __main__, neighbour\n"
        "def move(async=False): return async\n"
        "if __name__ == '__main__':\n"
        "    print(move(async=neighbour.value), sys.argv[1:], __file__, __main__.move is move)\n"
        "    sys.exit(3)\n"
    )
    assert needed(str(script))
    assert not needed(str(neighbour))
    (tmp_path / "binary.py").write_bytes(b"\x00")
    assert not needed(str(tmp_path / "binary.py"))
    words = [sys.executable, "-m", "opwright.legacy.idioms.script", "train.py", "-a", "b"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (3, f"7 ['-a', 'b'] {script} True\n", "")


def test_changes_that_need_no_torch() -> None:
    script = (
        "import sys; from opwright.legacy.idioms import WITHOUT_TORCH\n"
        "for each in WITHOUT_TORCH: each.apply()()\n"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
    assert set(idioms.WITHOUT_TORCH) < set(idioms.CHANGES)


def test_a_module_that_python_can_read_is_left_to_it(modules: Callable[[str, str], Any], tmp_path: Path) -> None:
    module = modules("new_module", "async def f():\n    async with x: pass\n    return [y async for y in z]\n")
    assert module.f.__code__.co_flags & 0x80
    assert list(tmp_path.glob("__pycache__/new_module*")) or sys.dont_write_bytecode


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("f(async=1)", "f(non_blocking=1)"),
        ("f(a, async =1)\r\n", "f(a, non_blocking =1)\n"),
        ("x = async\n", "x = non_blocking\n"),
        ("pool.async(async=1)", "pool.async(non_blocking=1)"),
        ("import async\nf(async=2)", "import async\nf(non_blocking=2)"),
        ("def f(async): pass", "def f(non_blocking): pass"),
        ("f(async=1, b='async=1')  # async=1", "f(non_blocking=1, b='async=1')  # async=1"),
        ("é = f(é, async=1); g(async=2)", "é = f(é, non_blocking=1); g(non_blocking=2)"),
        ("\ufefff(async=1)", "f(non_blocking=1)"),
        ("f(1)", None),
        ("async def f(): pass", None),
        ("f('async=1')", None),
        ("f(async=1", None),
        ("'''", None),
    ],
)
def test_modern_source(source: str, expected: str | None) -> None:
    assert modern_source(source.encode()) == expected


def test_sources_that_are_no_text() -> None:
    assert modern_source(b"\xff\xfe\x00async=1") is None
    assert modern_source(b"# coding: nothing\nf(async=1)") is None
    with pytest.raises((SyntaxError, ValueError)):
        compile_source(b"f(async=1)\x00", "x.py")


def test_errors_of_a_module_that_can_not_be_read(modules: Callable[[str, str], Any]) -> None:
    with pytest.raises(SyntaxError, match="this is Python 2") as raised:
        modules("python2", "def f(x):\n    print x\n")
    assert raised.value.lineno == 2
    with pytest.raises(SyntaxError, match="this is Python 2"):
        modules("python2_async", "x.cuda(async=True)\nprint 'done'\n")
    with pytest.raises(SyntaxError) as ordinary:
        modules("wrong", "def f(:\n")
    assert "Python 2" not in str(ordinary.value)


# Taking it back


def state() -> dict[str, Any]:
    owners: list[Any] = [
        Function,
        type(Variable),
        Variable,
        torch.Tensor,
        torch.testing,
        sys.modules["torch.autograd.gradcheck"],
        importlib.machinery.SourceFileLoader,
    ]
    names = {f"{owner}.{name}": value for owner in owners for name, value in vars(owner).items()}
    return {**names, "six": sys.modules.get("torch._six"), "torch": set(vars(torch))}


def test_taken_back_all_is_as_before(undo: Undo) -> None:
    while undo:
        undo.pop()()
    before = state()
    for change in idioms.CHANGES:
        take_back = change.apply()
        assert state() != before, change.name
        take_back()
        assert state() == before, change.name
    with pytest.raises(IndexError):
        torch.ones(())[0]
    with pytest.raises(ImportError):
        importlib.import_module("torch._six")
    with pytest.warns(UserWarning, match="volatile was removed"):
        assert not variable(torch.ones(1), volatile=True).volatile


def test_in_a_fresh_interpreter_nothing_is_left(tmp_path: Path) -> None:
    """Also of what was changed before anything of it was used."""
    script = tmp_path / "script.py"
    script.write_text(
        "import sys\n"
        "from opwright.legacy import autograd, idioms\n"
        "assert 'torch' not in sys.modules\n"
        "import torch\n"
        "def names(): return {k: v for o in (torch, torch.Tensor, torch.testing, torch.autograd.Function,\n"
        "    type(torch.autograd.Variable)) for k, v in vars(o).items()}\n"
        "before = names()\n"
        "undo = [c.apply() for c in (*autograd.CHANGES, *idioms.CHANGES)]\n"
        "assert names() != before\n"
        "while undo: undo.pop()()\n"
        "assert names() == before\n"
    )
    subprocess.run([sys.executable, script], check=True)


def test_names_are_unique_and_say_what_they_do() -> None:
    changes = (*autograd.CHANGES, *idioms.CHANGES)
    assert len({change.name for change in changes}) == len(changes)
    assert all(change.does and "\n" not in change.does for change in changes)


def test_compiled_files_of_others_are_read_as_ever(modules: Callable[[str, str], Any], tmp_path: Path) -> None:
    path = tmp_path / "cached.py"
    path.write_text("value = 3\n")
    py_compile.compile(str(path))
    assert modules("cached", "value = 3\n").value == 3
