"""``opwright info``: shows the facts in a file's signatures, and whether its loops are vectorised."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from opwright.cli.console import WIDTH, console_beside
from opwright.codegen import KernelSource
from opwright.codegen.collect import collect
from opwright.codegen.pointwise import LOOPS, loop_line
from opwright.codegen.providers import compiled_ahead, providers
from opwright.errors import OpwrightError
from opwright.languages import Language
from opwright.signature import DType, Signature, schema
from opwright.signature.clauses.independent import described
from opwright.signature.clauses.variants import variant_signatures
from opwright.signature.derivatives import Derived, chains, obstacle
from opwright.signature.names import backward_of, jvp_of, recorded_attribute_of
from opwright.signature.wiring import Derivative, derivative, suggestion
from opwright.sources import Kernel
from opwright.sources.matching import match
from opwright.toolchain import Options, Unit
from opwright.toolchain.build.limits import jobs
from opwright.toolchain.build.vectorization import loop_remark


def vectorized(source: KernelSource) -> Mapping[str, str]:
    """Return by name whether the float32 loops of pointwise operators and their first derivatives are vectorised.

    Compiles the loops in parallel; the text for a loop that doesn't compile here reports that.
    """
    loops = list(_loops(source))
    with ThreadPoolExecutor(jobs()) as pool:
        texts = pool.map(lambda loop: _loop_text(loop[2], source.options), loops)
    return {name: f"{text} ({_types(types)})" for (name, types, _), text in zip(loops, texts, strict=True)}


def _loops(source: KernelSource) -> Iterator[tuple[str, dict[str, DType], Unit]]:
    for kernel in source.source.kernels:
        signature = source.signatures[kernel.signature.name]
        if signature.pointwise:
            types = _float32(signature)
            yield signature.name, types, source.kernel_unit(signature.name, types)
    for name, derived in source.derivatives().items():
        if derived.body.pointwise and (wanted := compiled_ahead(derived)) is not None:
            types = _float32(derived.signature)
            yield name, types, source.derived_unit(name, types, wanted)


def _float32(signature: Signature) -> dict[str, DType]:
    """Return the element types to compile for: float32 where it is allowed."""
    instances = signature.instances()
    return max(instances, key=lambda types: sum(dtype is DType.F32 for dtype in types.values()))


def _loop_text(unit: Unit, options: Options) -> str:
    try:
        vectorized, why = loop_remark(unit, options, LOOPS, loop_line(0))
    except OpwrightError as error:
        return f"not known: {str(error).splitlines()[0]}"
    return "yes" if vectorized else f"no: {why or 'the compiler gives no reason'}"


def _types(types: Mapping[str, DType]) -> str:
    return ", ".join(dtype.torch_name for dtype in types.values()) or "as written"


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
    shown: dict[str, Language] = {}  # an operator with kernels for both devices is in two files, one of them CUDA
    for source in sources:
        twins = {name for name, language in shown.items() if "cuda" in (language, source.source.language)}
        _show_all(console, source, kernels, {name: d for name, d in devices.items() if name not in twins})
        shown |= {kernel.signature.name: source.source.language for kernel in source.source.kernels}


def _show_all(console: Console, source: KernelSource, others: Sequence[Kernel], devices: Mapping[str, str]) -> None:
    """Show the operators whose forward is in `source`, beside the kernels of other files, with their devices."""
    own, loops = source.source.kernels, vectorized(source)
    names = [kernel.signature.name for kernel in own if kernel.signature.name in devices]
    for chain in chains(source.signatures.values()):
        if chain[0].name not in names:  # in another file, or a forward mode, which is shown with its operator
            continue
        for signature, facts in zip(chain, describe(chain, source.signatures, source.derived), strict=True):
            facts["devices"] = devices[signature.name]
            if signature.alternative:
                facts["alternative"] = _chosen_for(signature, source.signatures.values())
            if signature.name in loops:
                facts["vectorised"] = loops[signature.name]
            _show(console, _place([*own, *others], source.derived, signature), facts)


def _chosen_for(signature: Signature, every: Iterable[Signature]) -> str:
    """Return what an alternative is chosen for, among all signatures."""
    from opwright.signature.alternatives import Alternatives, overlap

    others = [each for each in every if each.alternative and each.shown_name == signature.shown_name]
    if signature.is_backward or overlap(others):
        return f"of {signature.shown_name}"
    choice = Alternatives(others)
    return f"of {choice.name}, for {choice.taken_by(choice.signatures.index(signature))}"


def _place(kernels: Sequence[Kernel], derived: Mapping[str, Derived], signature: Signature) -> str:
    if signature.name in derived:
        return f"derived from {derived[signature.name].body.name}"
    return next(f"{kernel.path}:{kernel.line}" for kernel in kernels if kernel.signature.name == signature.name)


def describe(
    chain: Sequence[Signature], known: Container[str] = (), derived: Container[str] = ()
) -> list[dict[str, str]]:
    """Return the facts in the signatures of a chain's operators.

    Args:
        chain: an operator, its backward, and so on.
        known: the names of all operators, including forward modes.
        derived: the names of the derived operators.
    """
    steps = [derivative(forward, backward) for forward, backward in pairwise(chain)]
    modes = {signature.name for signature in chain if jvp_of(signature.name) in known}
    described = [_facts(s, of, own) for s, of, own in zip(chain, [None, *steps], [*steps, None], strict=True)]
    for signature, facts in zip(chain, described, strict=True):
        if backward_of(signature.name) in derived:
            facts["gradient"] = _how_derived(signature)
        if signature.broadcasts:
            facts["forward mode"] = "derived" if signature.name in modes else "none"
    return described


def _how_derived(signature: Signature) -> str:
    """Return how an operator's gradient is derived, and what the tape of a kernel with axes holds at a time."""
    if signature.pointwise:
        return "derived"
    if signature.batched:
        unit = "a row, or those that fill a vector"
    elif signature.independent:
        unit = f"a slice along {', '.join(signature.independent)}, or those that fill a vector"
    else:
        unit = "the whole call: 20 to 40 bytes for each operation"
    return f"derived; the kernel runs again, and its tape holds {unit}"


def _facts(signature: Signature, of: Derivative | None, own: Derivative | None) -> dict[str, str]:
    combined = {variable for each in signature.combinations for variable in each.variables}
    free = [variable for variable in signature.type_variables if variable not in combined]
    types = [f"{v}: {', '.join(map(str, signature.allowed(v)))}" for v in free] + [*map(str, signature.combinations)]
    facts = {
        "operator": signature.name,
        "signature": str(signature),
        **_schemas(signature, of),
        "element types": "; ".join(types) or "as written",
        "devices": "cpu",
    }
    if signature.broadcasts:
        facts["kind"] = _kind(signature)
    if signature.independent:
        facts["independent"] = described(signature)
    if variants := variant_signatures(signature):
        facts["variants"] = ", ".join(variants)
    if own is None:
        return {**facts, "differentiable": _not_differentiable(signature)}
    return {**facts, "differentiable": _differentiable(own), "saved": _saved(own) or "nothing"}


def _kind(signature: Signature) -> str:
    if signature.pointwise:
        return "pointwise: arguments broadcast and promote"
    return "batched: leading axes broadcast"


def _not_differentiable(signature: Signature) -> str:
    backward, why = suggestion(signature), obstacle(signature) if signature.pointwise else ""
    return "".join(["no", why and f": {why}", backward and f"; a backward would be\n{backward}"])


def _schemas(signature: Signature, of: Derivative | None) -> dict[str, str]:
    """Return the schemas of the operator and, if it has residuals, of the form that returns them; without the hash."""
    form = partial(
        schema,
        signature,
        axes=of.axes if of else (),
        ellipsis=of.ellipsis if of else False,
        output_mask=len(signature.outputs) if of else 0,
    )
    if not signature.residuals:
        return {"schema": form()}
    return {
        "schema": form(),
        "recorded form": form(overload=recorded_attribute_of(signature.name), with_residuals=True),
    }


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
