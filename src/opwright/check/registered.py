"""The operators that Opwright registered, as what is checked."""

from __future__ import annotations

from typing import Any

from torch._ops import OpOverload

from opwright.check.subject import Subject, backward_of
from opwright.signature import Signature
from opwright.signature.wiring import BACKWARD


def of_namespace(ops: Any, imports: tuple[str, ...] = ()) -> list[Subject]:
    """Each operator that is no other's derivative."""
    registered = ops._registered  # noqa: SLF001 - what the runtime knows of its operators
    signatures = {name: each.kernel.signature for name, each in registered.items()}
    derived = ops._derived  # noqa: SLF001
    sources = ops._sources  # noqa: SLF001
    every = {name: each.op for name, each in registered.items()}
    paths = ", ".join(repr(str(source.path)) for source in sources)
    imports = imports or ("import opwright", f"ops = opwright.load({paths})")
    return [
        Subject(
            name,
            signature.as_written,
            every[name],
            every[name],
            backward=backward_of(name, signatures),
            ours=True,
            sources=tuple(sources),
            imports=imports,
            expression=f"ops.{name}",
            namespace=every,
            devices=registered[name].kernel.devices,
        )
        for name, signature in signatures.items()
        if name not in derived and not _is_backward(name, signatures)
    ]


def _is_backward(name: str, signatures: dict[str, Signature]) -> bool:
    return name.endswith(BACKWARD) and name.removesuffix(BACKWARD) in signatures


def ours(op: OpOverload) -> Subject | None:
    """The subject of an operator that Opwright registered."""
    from opwright.aten.differentiable import defined
    from opwright.runtime.loading import loaded

    for ops in loaded():
        for subject in of_namespace(ops):
            if subject.op is op:
                return subject
    for registered in defined():
        if registered[0].op is op:
            signatures = {each.kernel.signature.name: each.kernel.signature for each in registered}
            name = registered[0].kernel.signature.name
            return Subject(
                name, signatures[name].as_written, op, op, backward=backward_of(name, signatures), ours=True,
                imports=("# the operator must be defined first",), expression=f"torch.ops.{op.namespace}.{name}",
            )  # fmt: skip
    return None
