"""``opwright info``: what a file's signatures say of its operators."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from opwright.cli.asking import WIDTH, console_beside
from opwright.cli.loops import vectorized
from opwright.codegen import KernelSource
from opwright.codegen.collect import collect
from opwright.codegen.devices import providers
from opwright.signature import Signature, schema
from opwright.signature.derive import Derived, jvp_name, obstacle
from opwright.signature.wiring import BACKWARD, Derivative, chains, derivative, overload_name, suggestion
from opwright.sources import Kernel, match
from opwright.sources.model import Language
from opwright.toolchain import Options


@click.command("info")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path, readable=False))
@click.option("--ops", multiple=True, help="The signature of a function without a mark; may be repeated.")
def command(files: tuple[Path, ...], ops: tuple[str, ...]) -> None:
    """Show the operators that FILES define: signature, schema, devices, what is differentiable and what is saved.

    Needs no PyTorch. The loops of pointwise operators are compiled, to see whether the compiler vectorises them; where
    there is no compiler, that is what is said of them.
    """
    console = console_beside(WIDTH)
    sources = collect(files, Options(), ops or None)
    kernels = [kernel for source in sources for kernel in source.source.kernels]
    for kernel in kernels:
        match(kernel)
    devices = {name: ", ".join(sorted(each.devices)) for name, each in providers(sources).items()}
    shown: dict[str, Language] = {}  # an operator with a kernel for each device is in two files, of which one is CUDA's
    for source in sources:
        twins = {name for name, language in shown.items() if "cuda" in (language, source.source.language)}
        _show_all(console, source, kernels, {name: d for name, d in devices.items() if name not in twins})
        shown |= {kernel.signature.name: source.source.language for kernel in source.source.kernels}


def _show_all(console: Console, source: KernelSource, others: Sequence[Kernel], devices: Mapping[str, str]) -> None:
    """The operators whose forward is in `source`; `others`: kernels of all files; `devices`: of each to be shown."""
    own, loops = source.source.kernels, vectorized(source)
    names = [kernel.signature.name for kernel in own if kernel.signature.name in devices]
    for chain in chains(source.signatures.values()):
        if chain[0].name not in names:  # another file's; or a forward mode, which its operator's own lines name
            continue
        for signature, facts in zip(chain, describe(chain, source.signatures, source.derived), strict=True):
            facts["devices"] = devices[signature.name]
            if signature.name in loops:
                facts["vectorised"] = loops[signature.name]
            _show(console, _place([*own, *others], source.derived, signature), facts)


def _place(kernels: Sequence[Kernel], derived: Mapping[str, Derived], signature: Signature) -> str:
    if signature.name in derived:
        return f"derived from {derived[signature.name].body.name}"
    return next(f"{kernel.path}:{kernel.line}" for kernel in kernels if kernel.signature.name == signature.name)


def describe(
    chain: Sequence[Signature], known: Container[str] = (), derived: Container[str] = ()
) -> list[dict[str, str]]:
    """Of each operator of a chain, what the signatures say.

    Args:
        chain: an operator, its backward, and so on.
        known: the names of all operators that there are, forward modes too.
        derived: the names of those that are derived.
    """
    steps = [derivative(forward, backward) for forward, backward in pairwise(chain)]
    modes = {signature.name for signature in chain if jvp_name(signature.name) in known}
    overload = overload_name(chain, modes)
    found = [_facts(s, overload, of, own) for s, of, own in zip(chain, [None, *steps], [*steps, None], strict=True)]
    for signature, facts in zip(chain, found, strict=True):
        if signature.name + BACKWARD in derived:
            facts["gradient"] = "derived"
        if signature.broadcasts:
            facts["forward mode"] = "derived" if signature.name in modes else "none"
    return found


def _facts(signature: Signature, overload: str, of: Derivative | None, own: Derivative | None) -> dict[str, str]:
    types = [f"{v}: {', '.join(map(str, signature.allowed(v)))}" for v in signature.type_variables]
    facts = {
        "operator": signature.name,
        "signature": str(signature),
        **_schemas(signature, overload, of),
        "element types": "; ".join(types) or "as written",
        "devices": "cpu",
    }
    if signature.broadcasts:
        facts["kind"] = _kind(signature)
    if own is None:
        return {**facts, "differentiable": _not_differentiable(signature)}
    return {**facts, "differentiable": _differentiable(own), "saved": _saved(own) or "nothing"}


def _kind(signature: Signature) -> str:
    if signature.pointwise:
        return "pointwise: arguments broadcast and promote"
    return "batched: leading axes broadcast"


def _not_differentiable(signature: Signature) -> str:
    written, why = suggestion(signature), obstacle(signature) if signature.pointwise else ""
    return "".join(["no", why and f": {why}", written and f"; a backward would be\n{written}"])


def _schemas(signature: Signature, overload: str, of: Derivative | None) -> dict[str, str]:
    """As they are registered: the operator's and, where there are residuals, that of the form that returns them."""
    form = partial(
        schema,
        signature,
        overload=overload,
        axes=of.axes if of else (),
        ellipsis=of.ellipsis if of else False,
        output_mask=len(signature.outputs) if of else 0,
    )
    if not signature.residuals:
        return {"schema": form()}
    return {"schema": form(), "internal form": form(name=f"_{signature.name}_with_residuals", with_residuals=True)}


def _differentiable(own: Derivative) -> str:
    inputs = ", ".join(own.forward.inputs[i].name for i in own.inputs)
    without = [r.name for r, has in zip(own.forward.outputs, own.differentiable, strict=False) if not has]
    return f"in {inputs}" + (f"; no gradient is taken for {', '.join(without)}" if without else "")


def _saved(own: Derivative) -> str:
    names = [
        p.name + (" (value)" if wire.source == "scalar" else "")
        for p, wire in zip(own.backward.inputs, own.wires, strict=False)
        if "gradient" not in wire.source
    ]
    return ", ".join([*names, *(f"the size of {axis}" for axis in own.axes)] + ["the shape of ..."] * own.ellipsis)


def _show(console: Console, place: str, facts: dict[str, str]) -> None:
    console.print(Text(f"{facts['operator']}  {place}", style="bold"), soft_wrap=True)
    table = Table(show_header=False, box=None, padding=(0, 2))
    for name, value in facts.items():
        if name != "operator":
            table.add_row(name, Text(value))
    console.print(table)
    console.print()
