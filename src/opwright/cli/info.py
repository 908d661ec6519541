"""``opwright info``: what a file's signatures say of its operators."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from opwright.codegen.collect import collect
from opwright.signature import Signature, schema
from opwright.signature.wiring import Derivative, chains, derivative, overload_name, suggestion
from opwright.sources import Kernel, match
from opwright.toolchain import Options


@click.command("info")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path, readable=False))
@click.option("--ops", multiple=True, help="The signature of a function without a mark; may be repeated.")
def command(files: tuple[Path, ...], ops: tuple[str, ...]) -> None:
    """Show the operators that FILES define: signature, schema, devices, what is differentiable and what is saved.

    Needs no compiler and no PyTorch.
    """
    console = Console()
    for source in collect(files, Options(), ops or None):
        kernels = source.source.kernels
        for kernel in kernels:
            match(kernel)
        for chain in chains([kernel.signature for kernel in kernels]):
            for signature, facts in zip(chain, describe(chain), strict=True):
                _show(console, _place(kernels, signature), facts)


def _place(kernels: Sequence[Kernel], signature: Signature) -> str:
    return next(f"{kernel.path}:{kernel.line}" for kernel in kernels if kernel.signature.name == signature.name)


def describe(chain: Sequence[Signature]) -> list[dict[str, str]]:
    """Of each operator of a chain, what the signatures say."""
    steps = [derivative(forward, backward) for forward, backward in pairwise(chain)]
    overload = overload_name(chain)
    return [_facts(s, overload, of, own) for s, of, own in zip(chain, [None, *steps], [*steps, None], strict=True)]


def _facts(signature: Signature, overload: str, of: Derivative | None, own: Derivative | None) -> dict[str, str]:
    types = [f"{v}: {', '.join(map(str, signature.allowed(v)))}" for v in signature.type_variables]
    facts = {
        "operator": signature.name,
        "signature": str(signature),
        **_schemas(signature, overload, of),
        "element types": "; ".join(types) or "as written",
        "devices": "cpu",
    }
    if own is None:
        written = suggestion(signature)
        return {**facts, "differentiable": f"no; a backward would be\n{written}" if written else "no"}
    return {**facts, "differentiable": _differentiable(own), "saved": _saved(own) or "nothing"}


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
