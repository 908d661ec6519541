"""Registration of an operator's variants, ``f.out`` and ``f_``, with PyTorch's dispatcher.

Their kernels are composite: they call the operator, and write its results to the tensors that the caller gives. So
autograd, tracing and ``torch.func`` see the operator itself, and a copy, which PyTorch knows how to differentiate and
to put into a graph. Where nobody listens, the native runtime has the kernel write to those tensors at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from opwright.runtime.interface import Operator
from opwright.runtime.register.call_errors import explain_calls
from opwright.runtime.register.definitions import define
from opwright.runtime.register.kernels import started_runtime
from opwright.runtime.register.python_numbers import accept_numbers
from opwright.runtime.torch_internals import OpOverload
from opwright.signature import Signature, schema
from opwright.signature.clauses.variants import OUT, variant_names, variant_signatures
from opwright.signature.derivatives import overload_with_name
from opwright.signature.names import operator_of


@dataclass(frozen=True)
class Variant:
    """A variant of an operator, with its signature, which no author wrote."""

    signature: Signature
    op: OpOverload


def register_variants(
    library: torch.library.Library, signature: Signature, overload: str, op: Operator
) -> dict[str, Variant]:
    """Register the variants of an operator, and return them by name.

    Args:
        library: the library of the namespace.
        signature: the operator's signature.
        overload: its overload's name, whose hash those of the variants have, too.
        op: the operator in the form that the runtime uses.
    """
    kinds, made = variant_names(signature), dict[str, Variant]()
    for name, form in variant_signatures(signature).items():
        own = overload_with_name(overload, name)
        defined = define(library, operator_of(name), own, schema(form, overload=own), _tags(kinds[name], signature))
        explain_calls(defined, form)
        accept_numbers(defined, form)
        started_runtime().add_variant(op, defined, form)
        made[name] = Variant(form, defined)
    return made


def _tags(kind: str, signature: Signature) -> list[torch.Tag]:
    """Return a variant's tags; PyTorch has one for each kind from 2.13 on."""
    tags = [torch.Tag.pt2_compliant_tag]
    of_kind = getattr(torch.Tag, OUT if kind == OUT else "inplace", None)
    if signature.generator:
        tags.append(torch.Tag.nondeterministic_seeded)
    return tags if of_kind is None else [*tags, of_kind]
