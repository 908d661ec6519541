"""``opwright.differentiable``: makes one operator of existing functions, a forward and its backward.

Nothing is compiled. The operator calls the functions themselves, which ``torch.utils.cpp_extension.load`` or pybind11
has bound, or any Python callables on tensors. Schema, checks, fake kernel, autograd, vmap and autocast follow from the
signature, as for kernels (:mod:`opwright.runtime`).
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from opwright.errors import OpwrightError, SignatureError, UnsupportedError
from opwright.runtime.fork_and_exit import renew_in_forks
from opwright.runtime.load.namespace import check_free, check_name, identifier
from opwright.runtime.register.docstrings import document_functions
from opwright.runtime.register.operators import Registered, check_supported
from opwright.runtime.register.overloads import Current, is_ours, renew
from opwright.runtime.register.python_kernels import PythonFunction
from opwright.runtime.torch_internals import OpOverload
from opwright.signature import Signature, TensorParam, parse
from opwright.signature.derivatives import chains
from opwright.signature.names import backward_of, overload_of
from opwright.signature.wiring import GRAD, suggestion

Function = Callable[..., Any]
Contiguous = Literal["gradients", "all", "none"]

_DEFINED: dict[tuple[str, str], Mapping[str, Registered]] = {}  # by namespace and operator
_LOCK = threading.RLock()
renew_in_forks(globals(), "_LOCK")


def differentiable(
    forward: Function,
    backward: Function,
    backward_backward: Function | None = None,
    *,
    signature: Sequence[str],
    namespace: str | None = None,
    contiguous: Contiguous = "gradients",
    output_mask: bool = False,
) -> OpOverload:
    """Make one operator of an existing forward and backward, such as functions bound by pybind11.

    The operator has a schema, a fake kernel and autograd, so it works in ``torch.compile``. Each call's arguments and
    results are checked against the signatures. Calling this again with the same names replaces the operator's
    functions.

    Args:
        forward: takes the inputs of its signature, in order; returns its outputs, then its residuals (after the ``;``),
            as one tensor, a tuple or a list. It must not change its arguments.
        backward: takes the inputs of its signature, in order; returns the gradients in its signature's order. None in
            place of a gradient means zeros.
        backward_backward: the same for the second derivative; without it, double backward raises.
        signature: the signature of each function, in the same order: ``["f(x: T[N]) -> (y: T[N])",
            "f_backward(grad_y: T[N], x: T[N]) -> (grad_x: T[N])"]``. A backward takes the gradients of outputs
            (``grad_y``: zeros if no gradient arrives; with ``?`` after the type, None), and, by name, any input, output
            or residual of its forward.
        namespace: the operator's namespace below ``torch.ops``; by default the operator's name.
        contiguous: the arguments to make contiguous before the call: incoming ``"gradients"``, which autograd often
            expands or transposes; ``"all"``, for functions that read raw pointers; or ``"none"``.
        output_mask: pass a list of bools as the backward's last argument, which selects the gradients to compute; the
            backward may return None for the others.

    Returns:
        The operator, ``torch.ops.<namespace>.<name>.default``.

    Raises:
        SignatureError: a signature can't be parsed, or the backward's doesn't match the forward's.
        UnsupportedError: the notation isn't supported for functions on whole tensors.
        SourceError: the namespace is used by other operators.
        TypeError: an argument isn't callable, or the numbers of signatures and functions differ.
    """
    functions = [forward, backward, *([] if backward_backward is None else [backward_backward])]
    chain = _chain(functions, signature, contiguous)
    providers = {s.name: _bound(s, f, contiguous, output_mask) for s, f in zip(chain, functions, strict=True)}
    name = chain[0].name
    space = identifier(namespace or name)
    with _LOCK:
        current = Current(_DEFINED.get((space, name), {}))
        if not current.registered:
            _check_names(space, chain)
        renew(space, current, [chain], providers, lambda new: _DEFINED.update({(space, name): new.registered}))
        document_functions(_DEFINED[space, name])
        op = _DEFINED[space, name][name].op
    op.__reduce_ex__ = functools.partial(_reduce, space, name)  # type: ignore[method-assign] # on this instance only
    return op


def defined() -> list[list[Registered]]:
    """Return every operator made here, each with its backward and double backward."""
    return [list(registered.values()) for registered in _DEFINED.values()]


def _reduce(space: str, name: str, _protocol: int) -> tuple[Callable[..., Any], tuple[str, str]]:
    """Pickle and copy by name, since functions bound by pybind11 can't be pickled."""
    return restore, (space, name)


def restore(space: str, name: str) -> OpOverload:
    """Return the operator of a pickle; called when it is loaded.

    Raises:
        OpwrightError: this process hasn't made the operator.
    """
    if (space, name) not in _DEFINED:
        raise OpwrightError(
            f"the pickle holds the operator torch.ops.{space}.{name} by its name, and there is none in this process\n"
            "  likely fix: import the module that makes it with opwright.differentiable before unpickling"
        )
    return _DEFINED[space, name][name].op


def _chain(functions: Sequence[Function], texts: Any, contiguous: str) -> tuple[Signature, ...]:
    """Parse the signatures of `functions`, and check that they match each other."""
    for function in functions:
        if not callable(function):
            raise TypeError(f"differentiable() got {function!r}, expected a function")
    if contiguous not in {"gradients", "all", "none"}:
        raise TypeError(f"differentiable() got contiguous={contiguous!r}, expected 'gradients', 'all' or 'none'")
    texts = [texts] if isinstance(texts, str) else texts
    if not isinstance(texts, Sequence) or not all(isinstance(text, str) for text in texts):
        raise TypeError(f"differentiable() got signature={texts!r}, expected a list of strings, one for each function")
    signatures = [parse(text) for text in texts]
    if len(signatures) != len(functions):
        raise _wrong_count(signatures, len(functions))
    names = [backward_of(signatures[0].name, order) for order in range(len(signatures))]
    for signature, expected in zip(signatures, names, strict=True):
        if signature.name != expected:
            raise SignatureError(
                f"differentiable() got a signature of {signature.name}, expected one of {expected}\n"
                f"  signature:  {signature}\n"
                f"  likely fix: in order, signatures of {', '.join(names)}"
            )
        _check_bindable(signature)
    return chains(signatures)[0]


def _wrong_count(signatures: Sequence[Signature], count: int) -> TypeError:
    last = signatures[-1] if signatures else None
    missing = suggestion(last) if last and len(signatures) < count else ""
    fix = f"\n  likely fix: add the signature of its backward, such as\n  {missing}" if missing else ""
    what = "one" if len(signatures) == 1 else len(signatures)
    return TypeError(f"differentiable() got {what} signature{'s' * (what != 'one')} for {count} functions{fix}")


def _check_bindable(signature: Signature) -> None:
    """Raise UnsupportedError if the signature uses a feature that only kernels have."""
    check_supported(signature, "differentiable()", "")
    for wrong, instead in (
        (overload_of(signature.name), f"leave out .{overload_of(signature.name)}: only kernels have overloads"),
        (signature.pointwise, "its tensors are whole: write x: T[...]"),
        (signature.batched, "write the leading axes: x: T[..., N]"),
        (signature.mutated, "return the new value as an output"),
        (signature.generator, "let the function draw, and return what its backward needs as a residual"),
        (signature.is_factory, "take the tensor that it is differentiated by"),
    ):
        if wrong:
            raise UnsupportedError(
                f"differentiable() can't make {signature.name} of a function\n  signature:  {signature}\n"
                f"  likely fix: {instead}"
            )


def _bound(signature: Signature, function: Function, contiguous: str, output_mask: bool) -> PythonFunction:
    places = tuple(
        place
        for place, param in enumerate(signature.inputs)
        if isinstance(param, TensorParam)
        and (contiguous == "all" or (contiguous == "gradients" and param.name.startswith(GRAD)))
    )
    return PythonFunction(function, places, takes_mask=output_mask and signature.is_backward)


def _check_names(space: str, chain: Sequence[Signature]) -> None:
    if not any(known == space for known, _ in _DEFINED):
        check_free(space, "differentiable")
    for signature in chain:
        if not is_ours(space, signature.name):
            check_name(signature.name, space)
