"""Variants of an operator, ``variants: out, inplace``: forms that write to tensors which the caller gives.

``f.out`` takes its results as arguments, by name; ``f_`` overwrites the first input. Both return what they write.
"""

from __future__ import annotations

from typing import Any

from opwright.signature.model import Signature
from opwright.signature.names import operator_of, overload_of, with_ending
from opwright.signature.parameters import Param, TensorParam

OUT, INPLACE = "out", "inplace"
VARIANTS = (OUT, INPLACE)


def variant_names(signature: Signature) -> dict[str, str]:
    """Return the names of the operator's variants, each with its kind: ``{"f.out": "out", "f_": "inplace"}``."""
    name = signature.name
    overload = f"{overload_of(name)}_{OUT}".removeprefix("_")
    known = {OUT: f"{operator_of(name)}.{overload}", INPLACE: with_ending(name, "_")}
    return {known[kind]: kind for kind in signature.variants}


def out_names(signature: Signature) -> tuple[str, ...]:
    """Return the names of the arguments of ``f.out`` for the results: ``out``, or ``out_y`` and so on for several."""
    outputs = signature.outputs
    return (OUT,) if len(outputs) == 1 else tuple(f"{OUT}_{output.name}" for output in outputs)


def variant_signatures(signature: Signature) -> dict[str, Signature]:
    """Return the signatures of the operator's variants, by name. No author could write them."""
    forms = {OUT: _out_form, INPLACE: _inplace_form}
    return {name: forms[kind](signature, name) for name, kind in variant_names(signature).items()}


def _out_form(signature: Signature, name: str) -> Signature:
    pairs = zip(out_names(signature), signature.outputs, strict=True)
    given = tuple(_overwritten(output, name) for name, output in pairs)
    names = tuple(tensor.name for tensor in given)
    return _form(signature, name, (*signature.inputs, *given), names).replaced(given=names)


def _inplace_form(signature: Signature, name: str) -> Signature:
    first = signature.tensors[0]
    return _form(signature, name, (_overwritten(first, first.name), *signature.inputs[1:]), (first.name,))


def _overwritten(tensor: TensorParam, name: str) -> TensorParam:
    return TensorParam(name, tensor.type, tensor.shape, mutated=True, domain=tensor.domain)


def _form(signature: Signature, name: str, inputs: tuple[Param, ...], returned: tuple[str, ...]) -> Signature:
    rest: dict[str, Any] = {"outputs": (), "residuals": (), "variants": (), "derived": False, "independent": ()}
    rest["launch"] = None
    return signature.replaced(name=name, inputs=inputs, returned=returned, **rest)
