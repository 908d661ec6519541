"""All uses of PyTorch's private Python names; uses of private C++ names are in ``csrc/torch_compat.h``.

Each `PrivateName` documents why it is needed, and what happens if a version of PyTorch lacks it: a public fallback is
used, or a feature is switched off with one warning. Loading operators depends on none of them. The rest of Opwright
calls the functions of this module; tests/runtime/test_torch_internals.py hides each name from them in turn.

What PyTorch documents isn't private, such as ``torch._check`` (`check` here) and the names in ``torch.__all__``. A
class without a public name is taken from a public object of that class.
"""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import torch
from torch.autograd import Function

from opwright.runtime.private_name import PrivateName

if TYPE_CHECKING:
    from torch._ops import OpOverload as OpOverload  # noqa: PLC0414 - exported
    from torch._ops import OpOverloadPacket as OpOverloadPacket  # noqa: PLC0414
else:
    OpOverload = type(torch.ops.aten.detach.default)
    OpOverloadPacket = type(torch.ops.aten.detach)

Context = contextlib.AbstractContextManager[Any]

OpNamespace: Any = type(torch.ops.aten)
check: Any = torch._check  # noqa: SLF001 - documented


# Operators: registering, loading, calling them

_FAKES = PrivateName(
    "torch._library.simple_registry.singleton",
    "registers a fake kernel without 2 ms of looking for the caller's source line",
    "torch.library.register_fake does it",
)
_SCHEMA = PrivateName("OpOverload._schema", "arguments and their defaults", "torch.fx.operator_schemas tells them")
_CALL = PrivateName(
    "OpOverload._op",
    "what calling an operator runs, which changes when it is loaded again with another signature",
    "callables that were taken before an operator's signature changed go on with the old one",
)
_OVERLOADS = PrivateName(
    "OpOverloadPacket._overload_names",
    "torch.ops.ns.name has to try the current overload alone",
    "torch.ops.ns.name may find the overload of an earlier signature",
)
_LIBRARY = PrivateName("Library.m", "keeps a library to the process's end", "handlers of atexit may find no operators")
_RANGE = PrivateName("torch._C._profiler._RecordFunctionFast", "ranges that no mode sees", "profiles don't show builds")
_REGISTERED = PrivateName(
    "torch._C._dispatch_get_all_op_names",
    "whether a namespace belongs to another library (Python runtime)",
    "a namespace that belongs to another library isn't refused",
)
_POLICY = PrivateName(
    "_CachingTorchDispatchMode.policy_fn",
    "selective checkpointing asks it about an operator with residuals by the operator's public overload",
    "a policy has to name torch.ops.ns.name.recorded, too",
)


def wrap_policy(mode: Any, wrapper: type) -> None:
    """Replace the policy of a mode of selective checkpointing, if it has one, by a `wrapper` of it."""
    policy = _POLICY.of(mode)
    if policy is not None and not isinstance(policy, wrapper):
        setattr(mode, _POLICY.attribute, wrapper(policy))


_SHARDING = PrivateName(
    "torch.distributed.tensor.DTensor._op_dispatcher",
    "a sharding strategy of an operator with residuals holds while a gradient is recorded",
    "torch.ops.ns.name.recorded needs a strategy of its own",
)


class ShardingTables(NamedTuple):
    """DTensor's strategies by overload, what its cache compares, and what makes sizes local (None: it has no such)."""

    strategies: dict[OpOverload, Callable[[Any], Any]]
    compared: dict[OpOverload, Any]
    local_sizes: dict[OpOverload, Callable[[Any, Any], Any]] | None


def sharding_tables() -> ShardingTables:
    """Return DTensor's tables, for reading and adding; imports torch.distributed.tensor."""
    if (known := getattr(_SHARDING.find(), "sharding_propagator", None)) is None:
        _SHARDING.warn()
    names: dict[str, Any] = {"op_strategy_funcs": {}, "op_to_schema_info": {}, "op_to_scalar_shape_adjuster": None}
    return ShardingTables(*(getattr(known, name, other) for name, other in names.items()))


def register_fake(library: torch.library.Library, op: OpOverload, rule: Callable[..., Any]) -> None:
    """Register the fake kernel of an operator."""
    if (registry := _FAKES.find()) is None:
        torch.library.register_fake(op, rule, lib=library)
        return
    registry.find(op.name()).fake_impl.register(rule, f"the signature of {op.name()}", lib=library)


def schema_of(op: OpOverload) -> torch.FunctionSchema:
    """Return an operator's schema."""
    schema: Any = _SCHEMA.of(op)
    if schema is None:
        from torch.fx.operator_schemas import get_signature_for_torch_op

        _, (schema, *_) = cast("Any", get_signature_for_torch_op(op, return_schemas=True))
    return cast("torch.FunctionSchema", schema)


def call_of(op: OpOverload | OpOverloadPacket) -> Callable[..., Any]:
    """Return the function that calling an operator runs: PyTorch's own, or the one that `set_call` set."""
    call: Callable[..., Any] = _CALL.of(op) or op
    return call


def set_call(op: OpOverload | OpOverloadPacket, call: Callable[..., Any]) -> None:
    """Make calls of an operator run `call`."""
    if _CALL.of(op) is None:
        _CALL.warn()
    else:
        setattr(op, _CALL.attribute, call)


own_call: Callable[[Any], Callable[..., Any]] = operator.attrgetter(_CALL.attribute)
"""Returns what `call_of` returns, at once; only for operators that have that attribute."""


_pytorch_overloads: Callable[[Any], list[str]] = OpOverloadPacket.overloads  # our subclass may answer otherwise


def overloads_of(packet: OpOverloadPacket) -> list[str]:
    """Return the names of the overloads that calling ``torch.ops.ns.name`` tries."""
    known: list[str] | None = _OVERLOADS.of(packet)
    return _pytorch_overloads(packet) if known is None else known


def set_overloads(packet: OpOverloadPacket, names: list[str]) -> None:
    """Set the overloads that calling ``torch.ops.ns.name`` tries."""
    if _OVERLOADS.of(packet) is not None:
        setattr(packet, _OVERLOADS.attribute, names)
    elif names != _pytorch_overloads(packet):
        _OVERLOADS.warn()


def owners(library: torch.library.Library) -> list[object]:
    """Return the objects whose destruction removes a library's operators."""
    return [owner for owner in (library, _LIBRARY.of(library)) if owner is not None]


def profiler_range(name: str) -> Context:
    """Return a context that shows as a range called `name` in profiles."""
    fast = _RANGE.find()
    return cast("Context", fast(name)) if fast else contextlib.nullcontext()


def operator_names() -> list[str]:
    """Return the qualified names of all operators in the process."""
    if (names := _REGISTERED.find()) is None:
        _REGISTERED.warn()
        return []
    return list(names())


# torch.compile

_DISABLE = PrivateName("torch._disable_dynamo", "imports torch._dynamo late", "torch.compiler.disable is used")


def not_compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return `function` such that compiled code calls it without tracing it."""
    return (_DISABLE.find() or torch.compiler.disable)(function)  # type: ignore[no-any-return]


_NOT_GUARDED = "a compiled graph with an operator whose signature changed isn't traced again, and refuses calls"
_GUARDS = PrivateName("torch._dynamo.guards", "ties a graph to the overload that it was traced with", _NOT_GUARDED)
_SOURCES = PrivateName("torch._dynamo.source", "what such a guard compares", _NOT_GUARDED)
_TRACING = PrivateName("torch._guards.TracingContext", "whether a graph is being traced", _NOT_GUARDED)
_RANDOM = PrivateName(
    "torch._functorch.compile_utils.rand_ops",
    "the operators of which torch.compile doesn't merge equal calls: it knows them by this list, not by their tag",
    "torch.compile may merge equal calls of a random operator, which then draws once",
)
_FAKE_MODE = PrivateName("torch._subclasses.fake_tensor.FakeTensorMode", "for opwright check", "a check is skipped")


def guard_graph(path: Sequence[str]) -> None:
    """Add a guard to the graph that torch.compile is tracing: the attribute of ``torch`` at `path` must stay equal."""
    guards, sources, tracing = _GUARDS.find(), _SOURCES.find(), _TRACING.find()
    try:
        if tracing.try_get() is None:
            return
        source = sources.ImportSource("torch")
        for name in path:
            source = sources.AttrSource(source, name)
        guards.install_guard(source.make_guard(guards.GuardBuilder.EQUALS_MATCH))
    except (AttributeError, TypeError):
        _GUARDS.warn()


def is_tracing() -> bool:
    """Return whether torch.compile is making a graph."""
    tracing = _TRACING.find()
    return tracing is not None and tracing.try_get() is not None


def mark_random(packet: OpOverloadPacket) -> None:
    """Mark an operator as random for torch.compile, so that it doesn't merge equal calls."""
    known = _RANDOM.find()  # this import takes most of a second; tracing needs it anyway
    if known is None:
        _RANDOM.warn()
    elif packet not in known:
        known.append(packet)


def fake_tensor_mode() -> Any:
    """Return a new FakeTensorMode; None if this PyTorch lacks it."""
    mode = _FAKE_MODE.find()
    return mode and mode()


# torch.func

_VMAP = "vmap over a random operator"
_NO_VMAP = f"{_VMAP} is refused"
_INTERPRETER = PrivateName(
    "torch._functorch.pyfunctorch.retrieve_current_functorch_interpreter", "the innermost vmap", _NO_VMAP
)
_UNWRAP = PrivateName("torch._C._functorch._unwrap_batched", "a tensor without vmap's axis", _NO_VMAP)
_WRAP = PrivateName("torch._C._functorch._add_batch_dim", "a tensor with vmap's axis", _NO_VMAP)
_TRANSFORMS = PrivateName(
    "torch._C._are_functorch_transforms_active",
    "whether a transform of torch.func is active",
    "torch.func over a Function whose forward is an instance's fails with PyTorch's own error",
)
_ONE_LEVEL = PrivateName(
    "torch._functorch.utils.enable_single_level_autograd_function",
    "nodes inside a transform of torch.func (Python runtime)",
    "torch.func can't differentiate operators of the Python runtime",
)
_SINGLE_LEVEL = PrivateName(
    "torch.autograd.function._SingleLevelFunction",
    "an autograd.Function that leaves torch.func's outer levels alone (Python runtime)",
    "torch.func can't differentiate operators of the Python runtime",
)


class VmapLevel:
    """The innermost vmap: its `randomness`, as passed to ``torch.vmap``, and its `batch_size`."""

    def __init__(self) -> None:
        """Look up the innermost vmap; raise UnsupportedError if this PyTorch lacks the names for it."""
        self._unwrap, self._wrap = _UNWRAP.needed(_VMAP), _WRAP.needed(_VMAP)
        interpreter = _INTERPRETER.needed(_VMAP)()
        self._level = interpreter.level()
        self.randomness: str = interpreter.randomness()
        self.batch_size: int = interpreter.batch_size()

    def without_axis(self, value: Any) -> tuple[Any, int | None]:
        """Return a tensor without the axis of this vmap, and the axis's index, or None if it has no such axis."""
        return self._unwrap(value, self._level) if isinstance(value, torch.Tensor) else (value, None)

    def with_axis(self, value: Any, dim: int | None) -> Any:
        """Return a tensor with its axis `dim` turned into the axis of this vmap."""
        return value if dim is None else self._wrap(value, dim, self._level)


def transforms_active() -> bool:
    """Return whether a transform of torch.func (vmap, grad, jvp...) is active."""
    active = _TRANSFORMS.find()
    return active is not None and bool(active())


def single_level_function() -> Any:
    """Return the base class of an autograd.Function that handles only the innermost level of torch.func."""
    return _SINGLE_LEVEL.find() or Function


def one_level() -> Context:
    """Return a context that allows a Function of that base class inside a transform of torch.func."""
    if _TRANSFORMS.find() is not None and not transforms_active():
        return contextlib.nullcontext()
    what = "torch.func over an operator of the Python runtime"
    if transforms_active():
        _SINGLE_LEVEL.needed(what)
    return cast("Context", _ONE_LEVEL.needed(what)())


# Autograd

_COMPILED = PrivateName(
    "Function._compiled_autograd_key",
    "what compiled autograd asks a node for: some of ours refuse",
    "compiled autograd fails with PyTorch's own error",
)
_NO_GRAD = "torch.no_grad() takes its place"
_BELOW_AUTOGRAD = PrivateName("torch._C._AutoDispatchBelowAutograd", "leaves autograd (Python runtime)", _NO_GRAD)
_BELOW_INPLACE = PrivateName(
    "torch._C._AutoDispatchBelowADInplaceOrView", "leaves the counting of versions (Python runtime)", _NO_GRAD
)
_FORWARD_MODE = PrivateName(
    "torch.autograd.forward_ad._set_fwd_grad_enabled",
    "forward mode inside a node's forward (Python runtime)",
    "nested forward mode fails, or has no outer tangent",
)
_LATE = "PyTorch refuses what can't be overwritten after the kernel has overwritten it"
_IS_VIEW = PrivateName("Tensor._is_view", "whether a tensor is a view (Python runtime)", "a base tells the same")
_BASE = PrivateName("Tensor._base", "what a tensor is a view of (Python runtime)", _LATE)
_CREATION = PrivateName("torch._C._autograd._get_creation_meta", "how a view came to be (Python runtime)", _LATE)
_CREATION_META = PrivateName("torch._C._autograd.CreationMeta", "the answers to that", _LATE)
_WILL_EXECUTE = PrivateName(
    "torch._C._will_engine_execute_node",
    "whether a run of backward() needs an edge's gradient; torch.autograd.graph has no name for it (Python runtime)",
    "gradients that nobody asked for are computed, too",
)


def before_compiled_autograd(node: Any, check: Callable[..., object]) -> None:
    """Make compiled autograd call `check`, which may raise, before it traces a node of this class."""
    setattr(node, _COMPILED.attribute, staticmethod(lambda *ctx: (check(*ctx), _COMPILED.of(Function)(*ctx))[1]))


def below_autograd() -> Context:
    """Return a context that dispatches below autograd, as torch.library's own Autograd kernels do."""
    return cast("Context", (_BELOW_AUTOGRAD.find() or torch.no_grad)())


def below_inplace() -> Context:
    """Return a context that dispatches below autograd and version counting, as torch.library's own kernels do."""
    return cast("Context", (_BELOW_INPLACE.find() or torch.no_grad)())


def forward_mode_enabled() -> Context:
    """Return a context that enables forward mode: PyTorch disables it in a node's forward."""
    enable = _FORWARD_MODE.find()
    return cast("Context", enable(True)) if enable else contextlib.nullcontext()


def is_view(tensor: torch.Tensor) -> bool:
    """Return whether autograd regards a tensor as a view."""
    ask = _IS_VIEW.of(tensor)
    return bool(ask()) if ask else _BASE.of(tensor) is not None


def base_of(tensor: torch.Tensor) -> torch.Tensor | None:
    """Return the base of a view; None if the tensor isn't a view."""
    return cast("torch.Tensor | None", _BASE.of(tensor)) if is_view(tensor) else None


def may_be_overwritten(view: torch.Tensor) -> bool:
    """Return whether autograd allows overwriting a view; True if unknown."""
    how, answers = _CREATION.find(), _CREATION_META.find()
    return how is None or answers is None or how(view) == answers.DEFAULT


def will_execute(node: Any) -> bool:
    """Return whether the running backward() will execute this node; True if unknown."""
    ask = _WILL_EXECUTE.find()
    try:
        return ask is None or bool(ask(node))
    except RuntimeError:  # no engine runs (a tracer does), or this gradient itself is requested
        return True


# Memory

_NO_CALLS = "extensions of torch.utils.ffi can't be called"
_EXTENSION = "calling an extension of torch.utils.ffi"
_STORAGE = PrivateName(
    "UntypedStorage._cdata",
    "tells storages apart (data_ptr() would copy what is cloned lazily); the StorageImpl for torch.utils.ffi",
    f"data_ptr() takes its place; {_NO_CALLS}",
)
_TENSOR = PrivateName("Tensor._cdata", "the TensorImpl for torch.utils.ffi", _NO_CALLS)
_UNTYPED = PrivateName("TypedStorage._untyped_storage", "the storage in a typed one", "untyped(), which warns")
_INTERNAL = PrivateName("TypedStorage._internal", "an argument: a typed storage without a warning", "PyTorch warns")


def storage_identity(tensor: torch.Tensor) -> int:
    """Return a number that identifies a tensor's storage: equal exactly for tensors that share it."""
    address: int | None = _STORAGE.of(tensor.untyped_storage())
    return tensor.untyped_storage().data_ptr() if address is None else address


def storage_address(storage: Any) -> int:
    """Return the address of a typed or untyped storage's StorageImpl; raise UnsupportedError if PyTorch lacks it."""
    if isinstance(storage, torch.storage.TypedStorage):
        untyped = _UNTYPED.of(storage)  # an empty one is false
        storage = storage.untyped() if untyped is None else untyped
    return cast("int", _STORAGE.needed(_EXTENSION, storage))


def typed_storage(storage: torch.UntypedStorage, dtype: torch.dtype) -> Any:
    """Return a typed storage, as old code uses it."""
    named: dict[str, Any] = {"wrap_storage": storage, "dtype": dtype}
    try:
        return torch.storage.TypedStorage(**named, **{_INTERNAL.attribute: True})
    except TypeError:
        return torch.storage.TypedStorage(**named)


def address_of(tensor: torch.Tensor) -> int | None:
    """Return the address of a tensor's TensorImpl; None if this PyTorch doesn't say it."""
    return cast("int | None", _TENSOR.of(tensor))


def tensor_address() -> Any:
    """Return the descriptor of the address of a tensor's TensorImpl; raise UnsupportedError if PyTorch lacks it."""
    return _TENSOR.needed(_EXTENSION, torch.Tensor)


# Nested tensors

_JAGGED = PrivateName("torch._nested_view_from_jagged", "makes jagged tensors, traced, too", "they can't be compiled")


def ragged_axis(nested: Any) -> int:
    """Return the index of the ragged axis of a jagged tensor."""
    return cast("int", nested.__tensor_flatten__()[1]["ragged_idx"])


def jagged_like(nested: Any, values: torch.Tensor) -> torch.Tensor:
    """Return a jagged tensor with the structure of another and the given values."""
    if (view := _JAGGED.find()) is None:
        return torch.nested.nested_tensor_from_jagged(values, nested.offsets(), nested.lengths(), ragged_axis(nested))
    ends = [getattr(nested, f"_{end}_seqlen_tensor", None) for end in ("min", "max")]
    return view(values, nested.offsets(), nested, nested.lengths(), ragged_axis(nested), *ends)  # type: ignore[no-any-return]


# Functions whose forward is a method of the instance, as until PyTorch 1.3

_FORWARD_CLASS = PrivateName("Function._forward_cls", "the class of a node, for PyTorch", "some hooks fail on the node")
_NODE_CLASS = PrivateName("Function._backward_cls", "makes the node of a call", "calling an instance is refused")


def set_forward_class(node: Any, descriptor: Any) -> None:
    """Set the attribute through which PyTorch finds a node's class."""
    setattr(node, _FORWARD_CLASS.attribute, descriptor)


def set_node_factory(function: Any, make: Callable[[], Any]) -> None:
    """Make each call of `function` get its node from `make`; raise UnsupportedError if PyTorch lacks the attribute."""
    _NODE_CLASS.needed("calling an instance of a Function", function)
    setattr(function, _NODE_CLASS.attribute, staticmethod(make))
