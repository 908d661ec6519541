"""The canary: every private name of PyTorch that Opwright uses is there, behaves, and can be done without."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.autograd import Function
from torch.utils.checkpoint import create_selective_checkpoint_contexts

from opwright.errors import UnsupportedError
from opwright.runtime import torch_internals
from opwright.runtime.private_name import NAMES, PrivateName

KERNELS = Path(__file__).parent / "kernels" / "hidden_names.cpp"
NAMED = {name.path: name for name in NAMES}
LIBRARY = torch.library.Library("torch_internals", "FRAGMENT")
LIBRARY.define("twice(Tensor x, float by=2.0) -> Tensor")
OP = torch.ops.torch_internals.twice.default
STORAGE = torch.ones(1).untyped_storage()
OWNERS: dict[str, Any] = {
    "OpOverload": OP,
    "OpOverloadPacket": OP.overloadpacket,
    "Library": LIBRARY,
    "Tensor": torch.ones(2)[:1],
    "UntypedStorage": STORAGE,
    "TypedStorage": torch_internals.typed_storage(STORAGE, torch.float32),
    "Function": Function,
    "_CachingTorchDispatchMode": create_selective_checkpoint_contexts([])[0],
}


@pytest.mark.parametrize("path", NAMED)
def test_it_exists(path: str) -> None:
    name, owner = NAMED[path], OWNERS.get(path.partition(".")[0])
    if path == "TypedStorage._internal":
        assert "_internal" in inspect.getsource(torch.storage.TypedStorage.__init__)
    elif path == "Function._forward_cls":
        node = type("Twice", (Function,), {"forward": staticmethod(lambda _, x: x.clone())})
        assert name.of(node.apply(torch.ones(1, requires_grad=True)).grad_fn) is node  # type: ignore[attr-defined]
    else:
        assert (name.find() if owner is None else name.of(owner)) is not None


def test_each_says_what_it_is_for() -> None:
    assert len(NAMED) == len(NAMES)
    for name in NAMES:
        assert name.why
        assert name.without
        assert tuple(map(int, name.since.split("."))) >= (2, 10)


def test_operators() -> None:
    schema = torch_internals.schema_of(OP)
    assert [(a.name, a.default_value) for a in schema.arguments] == [("x", None), ("by", 2.0)]
    assert torch_internals.overloads_of(OP.overloadpacket) == [""]
    assert "torch_internals::twice" in torch_internals.operator_names()
    assert len(torch_internals.owners(LIBRARY)) == 2
    assert isinstance(OP, torch_internals.OpOverload)
    assert isinstance(OP.overloadpacket, torch_internals.OpOverloadPacket)
    assert isinstance(torch.ops.torch_internals, torch_internals.OpNamespace)
    before = torch_internals.call_of(OP)
    torch_internals.set_call(OP, lambda x: x + 1)
    assert OP(1) == 2
    torch_internals.set_call(OP, before)
    torch_internals.register_fake(LIBRARY, OP, lambda x, by=2.0: torch.empty_like(x))
    mode = torch_internals.fake_tensor_mode()
    with mode:
        assert OP(torch.empty(3)).shape == (3,)


@pytest.mark.filterwarnings("ignore:.*Profiler clears events:UserWarning")  # of every profile, in PyTorch 2.10
def test_a_range_in_a_profile() -> None:
    with torch.profiler.profile() as profile, torch_internals.profiler_range("a range"):
        torch.ones(1)
    assert "a range" in [event.name for event in profile.events() or ()]


def test_transforms() -> None:
    def inside(x: torch.Tensor) -> torch.Tensor:
        assert torch_internals.transforms_active()
        level = torch_internals.VmapLevel()
        assert (level.randomness, level.batch_size) == ("different", 3)
        plain, dim = level.without_axis(x)
        assert (plain.shape, dim) == ((3, 2), 0)
        return level.with_axis(plain * 2, dim)  # type: ignore[no-any-return]

    x = torch.ones(3, 2)
    assert not torch_internals.transforms_active()
    assert torch.equal(torch.vmap(inside, randomness="different")(x), 2 * x)


def test_autograd() -> None:
    x = torch.ones(2, requires_grad=True)
    for below in (torch_internals.below_autograd, torch_internals.below_inplace):
        with below():
            assert not (2 * x).requires_grad
    view = (2 * x)[:1]
    assert torch_internals.is_view(view)
    assert torch_internals.base_of(view) is not None
    assert not torch_internals.is_view(x)
    assert torch_internals.may_be_overwritten(view)
    assert not torch_internals.may_be_overwritten((2 * x).unbind()[0])
    assert torch_internals.will_execute(view.grad_fn)  # nobody asks for anything
    assert torch_internals.storage_identity(view) == torch_internals.storage_identity(view.detach())
    assert torch_internals.storage_identity(x) != torch_internals.storage_identity(view)
    asked: list[bool] = []
    y, other = x.clone(), x.sum()
    y.register_hook(lambda _: asked.append(torch_internals.will_execute(other.grad_fn)))
    torch.autograd.grad(y.sum(), x)
    assert asked == [False]


SCRIPT = """
import json, sys
from pathlib import Path
import torch, opwright
from opwright.runtime import torch_internals
from opwright.runtime.private_name import NAMES, PrivateName

find, of, hidden = PrivateName.find, PrivateName.of, None
PrivateName.find = lambda self: None if self.path == hidden else find(self)
PrivateName.of = lambda self, owner: None if self.path == hidden else of(self, owner)

ONE = Path(sys.argv[1]).read_text()
TWO = ONE.replace("twice(x: T[N])", "twice(x: T[N], by: float = 3.0)").replace(
    "x, Tensor<T, 1> y) {", "x, double by, Tensor<T, 1> y) {", 1
)
TWO = TWO.replace("y[i] = 2 * x[i]", "y[i] = T(by * x[i])")

def told(call):
    try:
        return call()
    except opwright.UnsupportedError as error:
        return str(error)

def overwritten(ops):
    y = 2 * torch.arange(3.0, requires_grad=True)
    ops.fill(y[:2])
    return y.tolist()

result = {}
path = Path(sys.argv[2], "hidden.cpp")
for number, name in enumerate(sorted(NAMES, key=lambda name: name.path)):
    hidden, space = name.path, f"hidden_{number}"
    path.write_text(ONE)
    ops = opwright.load(path, namespace=space)
    x = torch.arange(3.0, requires_grad=True)
    y = ops.twice(x)
    y.sum().backward()
    answer = {
        "called": [y.tolist(), x.grad.tolist()],
        "overwritten": overwritten(ops),
        "vmap": told(lambda: torch.vmap(ops.noise, randomness="different")(torch.ones(2, 3)).shape),
        "transformed": told(lambda: torch.func.grad(lambda x: ops.twice(x).sum())(x.detach()).tolist()),
    }
    kept = ops.twice
    path.write_text(TWO)
    ops = opwright.load(path, namespace=space)
    answer["again"] = [ops.twice(x).tolist(), getattr(torch.ops, space).twice(x).tolist()]
    try:
        answer["kept"] = kept(x).tolist()
    except opwright.OpwrightError as error:
        answer["kept"] = "refused"
    result[name.path] = answer
print(json.dumps(result))
"""
"""Each name is hidden in turn, and operators are loaded in a new namespace, called, differentiated, loaded again."""


@pytest.fixture(scope="module", params=["native", pytest.param("python", marks=pytest.mark.exhaustive)])
def hidden(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], str, str]:
    environment = {**os.environ, "OPWRIGHT_RUNTIME": request.param}
    folder = tmp_path_factory.mktemp(request.param)
    words = [sys.executable, "-W", "error", "-W", "ignore:.torch.jit.script", "-c", SCRIPT, str(KERNELS), str(folder)]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr, request.param


RANDOM = {
    "torch._functorch.pyfunctorch.retrieve_current_functorch_interpreter",
    "torch._C._functorch._unwrap_batched",
    "torch._C._functorch._add_batch_dim",
}
SINGLE = {
    "torch._functorch.utils.enable_single_level_autograd_function",
    "torch.autograd.function._SingleLevelFunction",
}


@pytest.mark.slow
def test_each_can_be_done_without(hidden: tuple[dict[str, Any], str, str]) -> None:
    results, log, runtime = hidden
    assert list(results) == sorted(NAMED)
    for path, result in results.items():
        assert result["called"] == [[0.0, 2.0, 4.0], [2.0, 2.0, 2.0]], path
        assert result["overwritten"] == [1.0, 1.0, 4.0], path
        assert result["again"][0] == [0.0, 3.0, 6.0], path
        if path in RANDOM:
            assert result["vmap"].startswith(f"vmap over a random operator needs {path}, which PyTorch "), path
        else:
            assert result["vmap"] == [2, 3], path
        if path in SINGLE and runtime == "python":
            assert result["transformed"].startswith(f"torch.func over an operator of the Python runtime needs {path}")
        else:
            assert result["transformed"] == [2.0, 2.0, 2.0], path
        if path == "OpOverload._op":
            assert result["kept"] == [0.0, 2.0, 4.0]  # goes on with the signature that it was taken with
        else:
            assert result["kept"] == "refused", path
            assert result["again"][1] == [0.0, 3.0, 6.0], path
    expected = f"opwright: PyTorch {torch.__version__} has no OpOverload._op: {NAMED['OpOverload._op'].without}\n"
    assert log.count(expected) == 1
    said = [line for line in log.splitlines() if "building the runtime" not in line]
    assert all(line.startswith(f"opwright: PyTorch {torch.__version__} has no ") for line in said), log


def test_what_old_extensions_and_functions_cannot_do_without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PrivateName, "of", lambda *_: None)
    storage = torch.ones(1).untyped_storage()
    for call, path in (
        (lambda: torch_internals.storage_address(storage), "UntypedStorage._cdata"),
        (torch_internals.tensor_address, "Tensor._cdata"),
        (lambda: torch_internals.set_node_factory(Function, Function), "Function._backward_cls"),
    ):
        with pytest.raises(UnsupportedError, match=f"needs {path}, which PyTorch {torch.__version__.split('+')[0]}"):
            call()
    assert torch_internals.storage_identity(torch.ones(1)) > 0
