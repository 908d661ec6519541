"""PyTorch's schema string for an operator, and for the internal forms around it."""

from __future__ import annotations

from collections.abc import Sequence

from opwright.signature.model import GeneratorParam, Param, ScalarParam, Signature

_SCALAR_TYPES = {"float": "float", "int": "SymInt", "bool": "bool"}


def schema(
    sig: Signature,
    *,
    name: str | None = None,
    overload: str = "",
    with_residuals: bool = False,
    axes: Sequence[str] = (),
    ellipsis: bool = False,
    output_mask: int = 0,
) -> str:
    """The schema as ``torch.library`` takes it.

    Defaults stand where no argument without one follows: a trailing ``Tensor?`` has the default None. Where
    ``axes`` or ``ellipsis`` add arguments, which have none, the whole form has no defaults but the mask's.

    Args:
        sig: the signature.
        name: the operator's name where it isn't the signature's; may be qualified (``"ns::name"``).
        overload: the overload's name; empty for the default one.
        with_residuals: return the residuals after the outputs.
        axes: add ``SymInt axis_N`` for each of these axes.
        ellipsis: add ``SymInt[] axis_ellipsis``, the shape of ``...``.
        output_mask: add ``bool[n] output_mask``: which of n gradients are wanted.
    """
    if sig.is_factory:
        chosen = ["ScalarType? dtype=None"] if sig.chosen_type else []
        return _text(
            sig, name, overload, [*_arguments(sig, defaults=True), "*", *chosen, "Device? device=None"], with_residuals
        )
    extra = [f"SymInt axis_{axis}" for axis in axes] + (["SymInt[] axis_ellipsis"] if ellipsis else [])
    arguments = _arguments(sig, defaults=not extra) + extra
    if output_mask:
        arguments.append(f"bool[{output_mask}] output_mask=[{', '.join(['True'] * output_mask)}]")
    return _text(sig, name, overload, arguments, with_residuals)


def _text(sig: Signature, name: str | None, overload: str, arguments: Sequence[str], with_residuals: bool) -> str:
    count = len(sig.results if with_residuals else sig.outputs)
    returns = "Tensor" if count == 1 else f"({', '.join(['Tensor'] * count)})"
    return f"{name or sig.name}{'.' + overload if overload else ''}({', '.join(arguments)}) -> {returns}"


def _arguments(sig: Signature, *, defaults: bool) -> list[str]:
    mutated = [tensor.name for tensor in sig.tensors if tensor.mutated]
    texts: list[str] = []
    for param in reversed(sig.inputs):
        default = _default(param) if defaults else ""
        defaults = default != ""
        texts.append(_argument(param, mutated) + default)
    return texts[::-1]


def _argument(param: Param, mutated: list[str]) -> str:
    if isinstance(param, ScalarParam):
        return f"{_SCALAR_TYPES[param.kind]} {param.name}"
    if isinstance(param, GeneratorParam):
        return f"Generator? {param.name}"
    alias = f"({_alias(mutated.index(param.name))}!)" if param.mutated else ""
    return f"Tensor{alias}{'?' if param.optional else ''} {param.name}"


def _alias(index: int) -> str:
    return "abcdefghijklmnopqrstuvwxyz"[index] if index < 26 else f"a{index}"


def _default(param: Param) -> str:
    """What stands after the name, empty where the argument has to be given."""
    if isinstance(param, ScalarParam):
        return "" if param.default is None else f"={param.default!r}"
    return "=None" if isinstance(param, GeneratorParam) or param.optional else ""
