"""Features of calls, gradients, `torch.func`, modes and layouts."""

from __future__ import annotations

import copy
import io
import multiprocessing
import pickle
import threading
from typing import Any

import torch
from torch.autograd.graph import save_on_cpu
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts
from torch.utils.flop_counter import FlopCounterMode, register_flop_formula

from .features import WrongResultError, feature, require, same, same_gradients, tensors
from .operators import Operator, reference


def _refuses(operator: Operator, *arguments: Any) -> None:
    try:
        result = operator.call(*arguments)
    except Exception:  # noqa: BLE001 - any refusal is one
        return
    raise WrongResultError(f"it returned a tensor of shape {list(result.shape)}")


@feature("forward: float32, float64, half, bfloat16")
def _(operator: Operator) -> None:
    for dtype in (torch.float32, torch.float64, torch.half, torch.bfloat16):
        x, w = tensors(dtype, grad=False)
        result = operator.call(x, w)
        require(result.dtype == dtype, f"the result is {result.dtype}")
        torch.testing.assert_close(result.double(), reference(x.double(), w.double()), rtol=2e-2, atol=2e-2)


@feature("forward: strided, expanded and empty tensors")
def _(operator: Operator) -> None:
    x, w = tensors(grad=False)
    for given in (x.t().contiguous().t(), x[::2], x[:1].expand(5, 3), x[:0]):
        same(operator.call(given, w), reference(given, w))


@feature("a wrong shape is refused")
def _(operator: Operator) -> None:
    x, w = tensors(grad=False)
    _refuses(operator, x, w[:2])


@feature("mixed element types are refused or promoted")
def _(operator: Operator) -> None:
    x, w = tensors(grad=False)
    try:
        result = operator.call(x, w.float())
    except Exception:  # noqa: BLE001 - any refusal is one
        return
    same(result, reference(x, w.float()))


@feature("the result keeps a dense column-major layout, as PyTorch's operations do")
def _(operator: Operator) -> None:
    x, w = tensors(grad=False)
    given = x.t().contiguous().t()
    if operator.call(given, w).stride() != reference(given, w).stride():
        raise NotImplementedError("the result is row-major")


@feature("backward")
def _(operator: Operator) -> None:
    same_gradients(operator.call, *tensors())


@feature("backward of float32 on strided and expanded tensors")
def _(operator: Operator) -> None:
    x, w = tensors(torch.float32)
    column = x.detach().t().contiguous().t().requires_grad_()
    grads = torch.autograd.grad(operator.call(column, w).sum(), (column, w))
    same(grads, torch.autograd.grad(reference(column, w).sum(), (column, w)))


@feature("gradient of one input alone")
def _(operator: Operator) -> None:
    x, w = tensors()
    for wanted in (x, w):
        ours = torch.autograd.grad(operator.call(x, w).sum(), wanted)[0]
        same(ours, torch.autograd.grad(reference(x, w).sum(), wanted)[0])


@feature("gradcheck")
def _(operator: Operator) -> None:
    torch.autograd.gradcheck(operator.call, tensors())


@feature("second derivative (gradgradcheck)")
def _(operator: Operator) -> None:
    torch.autograd.gradgradcheck(operator.call, tensors())


@feature("forward-mode derivative")
def _(operator: Operator) -> None:
    x, w = tensors(grad=False)
    tangents = (torch.ones_like(x), torch.ones_like(w))
    same(torch.func.jvp(operator.call, (x, w), tangents)[1], torch.func.jvp(reference, (x, w), tangents)[1])


@feature("an input overwritten before the backward is noticed, or changes nothing")
def _(operator: Operator) -> None:
    x, w = tensors()
    copied = x * 1
    result = operator.call(copied, w)
    with torch.no_grad():
        copied.zero_()
    try:
        result.sum().backward()
    except RuntimeError:
        return
    if not torch.allclose(x.grad, torch.autograd.grad(reference(x, w).sum(), x)[0]):
        raise WrongResultError("the gradient is wrong")


@feature("saved tensors go through hooks (save_on_cpu)")
def _(operator: Operator) -> None:
    with save_on_cpu():
        same_gradients(operator.call, *tensors())


@feature("anomaly mode")
def _(operator: Operator) -> None:
    x, w = tensors()
    with torch.autograd.detect_anomaly(check_nan=True):
        operator.call(x, w).sum().backward()


@feature("the gradient's node is named after the operator")
def _(operator: Operator) -> None:
    name = operator.call(*tensors()).grad_fn.name()
    if operator.name.replace("_", "").lower() not in name.replace("_", "").lower():
        raise NotImplementedError(f"it is called {name}")


@feature("no_grad and inference_mode")
def _(operator: Operator) -> None:
    x, w = tensors()
    for context in (torch.no_grad, torch.inference_mode):
        with context():
            require(not operator.call(x, w).requires_grad, "the result requires a gradient")


@feature("backward in several threads")
def _(operator: Operator) -> None:
    failed: list[BaseException] = []

    def work() -> None:
        try:
            same_gradients(operator.call, *tensors())
        except BaseException as error:  # noqa: BLE001 - raised below
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]


@feature("activation checkpointing")
def _(operator: Operator) -> None:
    for reentrant in (False, True):
        x, w = tensors()
        checkpoint(operator.call, x, w, use_reentrant=reentrant).sum().backward()
        same((x.grad, w.grad), torch.autograd.grad(reference(x, w).sum(), (x, w)))


@feature("selective checkpointing by a list of operators")
def _(operator: Operator) -> None:
    calls: list[str] = []

    class Count(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            calls.append(str(func))
            return func(*args, **(kwargs or {}))

    def contexts() -> Any:
        return create_selective_checkpoint_contexts([operator.overload])

    def model(x: torch.Tensor, w: torch.Tensor) -> Any:
        return checkpoint(lambda x, w: operator.call(x, w).cos(), x, w, use_reentrant=False, context_fn=contexts)

    x, w = tensors()
    with Count():
        model(x, w).sum().backward()
    count = sum(operator.name in call and "backward" not in call for call in calls)
    same(x.grad, torch.autograd.grad(reference(x, w).cos().sum(), x)[0])
    if count != 1:
        raise NotImplementedError(f"it was computed {count} times")


@feature("selective checkpointing by a policy")
def _(operator: Operator) -> None:
    seen: list[Any] = []

    def policy(context: Any, op: Any, *args: Any, **kwargs: Any) -> CheckpointPolicy:
        seen.append(op)
        return CheckpointPolicy.MUST_SAVE

    x, w = tensors()
    contexts = lambda: create_selective_checkpoint_contexts(policy)  # noqa: E731
    checkpoint(operator.call, x, w, use_reentrant=False, context_fn=contexts).sum().backward()
    if operator.overload not in seen:
        raise NotImplementedError(f"the policy sees {[str(op) for op in seen]}")


@feature("torch.func.grad and vjp")
def _(operator: Operator) -> None:
    x, w = tensors(grad=False)
    ours = torch.func.grad(lambda x: operator.call(x, w).sum())(x)
    same(ours, torch.func.grad(lambda x: reference(x, w).sum())(x))
    same(torch.func.vjp(operator.call, x, w)[1](x), torch.func.vjp(reference, x, w)[1](x))


@feature("vmap over one argument, and over all")
def _(operator: Operator) -> None:
    x, w = tensors(grad=False)
    many, weights = torch.stack([x, 2 * x]), torch.stack([w, -w])
    same(torch.vmap(operator.call, (0, None))(many, w), torch.vmap(reference, (0, None))(many, w))
    same(torch.vmap(operator.call)(many, weights), torch.vmap(reference)(many, weights))


@feature("gradients per sample: vmap of grad")
def _(operator: Operator) -> None:
    x, w = tensors(grad=False)
    many = torch.stack([x, 2 * x])

    def each(function: Any) -> Any:
        return torch.vmap(torch.func.grad(lambda w, x: function(x, w).sum()), (None, 0))(w, many)

    same(each(operator.call), each(reference))


@feature("jacrev")
def _(operator: Operator) -> None:
    x, w = tensors(grad=False)
    same(torch.func.jacrev(operator.call)(x, w), torch.func.jacrev(reference)(x, w))


@feature("jacfwd")
def _(operator: Operator) -> None:
    x, w = tensors(grad=False)
    same(torch.func.jacfwd(operator.call)(x, w), torch.func.jacfwd(reference)(x, w))


@feature("hessian")
def _(operator: Operator) -> None:
    x, w = tensors(grad=False)
    ours = torch.func.hessian(lambda w, x: operator.call(x, w).sin().sum())(w, x)
    same(ours, torch.func.hessian(lambda w, x: reference(x, w).sin().sum())(w, x))


@feature("functionalize")
def _(operator: Operator) -> None:
    x, w = tensors(grad=False)
    same(torch.func.functionalize(operator.call)(x, w), reference(x, w))


@feature("a dispatch mode sees the public operator, also where a gradient is recorded")
def _(operator: Operator) -> None:
    seen: list[Any] = []

    class Record(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(func)
            return func(*args, **(kwargs or {}))

    with Record():
        operator.call(*tensors())
    if operator.overload not in seen:
        raise NotImplementedError(f"it sees {[str(op) for op in seen]}")


@feature("a function mode sees the call")
def _(operator: Operator) -> None:
    seen: list[Any] = []

    class Record(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(func)
            return func(*args, **(kwargs or {}))

    with Record():
        operator.call(*tensors())
    require(seen, "it sees nothing")


class _Logging(torch.Tensor):
    """A subclass that counts what is called with it."""

    seen: list[Any] = []  # noqa: RUF012 - emptied by the feature

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        cls.seen.append(func)
        return super().__torch_function__(func, types, args, kwargs or {})


@feature("tensor subclasses (__torch_function__)")
def _(operator: Operator) -> None:
    x, w = tensors(grad=False)
    _Logging.seen.clear()
    result = operator.call(x.as_subclass(_Logging), w)
    require(_Logging.seen, "the subclass sees nothing")
    same(result.as_subclass(torch.Tensor), reference(x, w))


class _Wrapper(torch.Tensor):
    """A wrapper subclass (__torch_dispatch__)."""

    @staticmethod
    def __new__(cls: type[Any], inner: torch.Tensor) -> Any:
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype, strides=inner.stride())

    def __init__(self, inner: torch.Tensor) -> None:
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        unwrap = lambda value: value.inner if isinstance(value, cls) else value  # noqa: E731
        wrap = lambda value: cls(value) if isinstance(value, torch.Tensor) else value  # noqa: E731
        result = func(*torch.utils._pytree.tree_map(unwrap, args), **(kwargs or {}))
        return torch.utils._pytree.tree_map(wrap, result)


@feature("wrapper subclasses (__torch_dispatch__), with gradients")
def _(operator: Operator) -> None:
    x, w = tensors(grad=False)
    wrapped = _Wrapper(x).requires_grad_()
    operator.call(wrapped, w).sum().backward()
    require(isinstance(wrapped.grad, _Wrapper), "the gradient isn't a wrapper")
    plain = x.clone().requires_grad_()
    same(wrapped.grad.inner, torch.autograd.grad(reference(plain, w).sum(), plain)[0])


@feature("one flop formula counts the forward, also where a gradient is recorded")
def _(operator: Operator) -> None:
    register_flop_formula(operator.overload.overloadpacket, get_raw=True)(lambda x, w, *rest, **names: 5 * x.numel())
    for grad in (False, True):
        with FlopCounterMode(display=False) as counter:
            operator.call(*tensors(grad=grad))
        if counter.get_total_flops() != 60:
            raise NotImplementedError(f"it counts {counter.get_total_flops()}, expected 60")


@feature("fake and meta tensors")
def _(operator: Operator) -> None:
    x, w = tensors(grad=False)
    meta = operator.call(x.to("meta"), w.to("meta"))
    require((meta.shape, meta.dtype) == (x.shape, x.dtype), "the result has another shape or element type")


@feature("autocast runs it with mixed inputs, and gradients reach them")
def _(operator: Operator) -> None:
    x, w = tensors(torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        result = operator.call(x.bfloat16(), w)
    result.float().sum().backward()
    expected = torch.autograd.grad(reference(x, w).sum(), (x, w))
    torch.testing.assert_close((x.grad, w.grad), expected, rtol=5e-2, atol=5e-2)


@feature("sparse tensors are refused, complex ones refused or right")
def _(operator: Operator) -> None:
    x, w = tensors(grad=False)
    _refuses(operator, x.to_sparse(), w)
    try:
        result = operator.call(x.to(torch.complex128), w.to(torch.complex128))
    except Exception:  # noqa: BLE001 - any refusal is one
        return
    same(result, reference(x.to(torch.complex128), w.to(torch.complex128)))


@feature("jagged nested tensors, with gradients")
def _(operator: Operator) -> None:
    x, w = tensors()
    y = operator.call(torch.nested.nested_tensor_from_jagged(x, torch.tensor([0, 1, 4])), w)
    require(y.is_nested, "the result isn't nested")
    same(y.values(), reference(x, w))
    same(torch.autograd.grad(y.values().sin().sum(), (x, w)), torch.autograd.grad(reference(x, w).sin().sum(), (x, w)))


@feature("a sparse gradient that arrives")
def _(operator: Operator) -> None:
    def loss(y: torch.Tensor, sparse: bool) -> torch.Tensor:
        return torch.nn.functional.embedding(torch.tensor([1, 3, 1]), y, sparse=sparse).sin().sum()

    x, w = tensors()
    theirs = torch.autograd.grad(loss(reference(x, w), False), (x, w))
    ours = torch.autograd.grad(loss(operator.call(x, w), True), (x, w))
    same([gradient.to_dense() for gradient in ours], list(theirs))


@feature("the profiler names it")
def _(operator: Operator) -> None:
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        operator.call(*tensors())
    names = {event.key for event in profile.key_averages()}
    if not any(operator.name in name for name in names):
        raise NotImplementedError(f"the names are {sorted(names)}")


@feature("copy and pickle of a module that holds it")
def _(operator: Operator) -> None:
    module = torch.nn.Module()
    module.op = operator.overload
    x, w = tensors(grad=False)
    same(copy.deepcopy(module).op(x, w), reference(x, w))
    same(pickle.loads(pickle.dumps(module)).op(x, w), reference(x, w))  # noqa: S301 - ours
    buffer = io.BytesIO()
    torch.save(module, buffer)
    buffer.seek(0)
    same(torch.load(buffer, weights_only=False).op(x, w), reference(x, w))


@feature("a forked child calls it")
def _(operator: Operator) -> None:
    torch.set_num_threads(1)
    x, w = tensors(grad=False)
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    child = context.Process(target=lambda: queue.put(operator.call(x, w).tolist()))
    child.start()
    child.join(60)
    require(child.exitcode == 0, f"the child ended with {child.exitcode}")
    same(torch.tensor(queue.get(), dtype=torch.float64), reference(x, w))
