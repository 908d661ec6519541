"""``opwright bundle``: writes operators as one library for programs without Python."""

from __future__ import annotations

from pathlib import Path

import click

from opwright._version import format_minor
from opwright.cli.completion import backends
from opwright.cli.console import DTYPES
from opwright.signature.dtypes import BY_ANY_NAME


@click.command("bundle")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path, readable=False))
@click.option(
    "--output", "-o", type=click.Path(path_type=Path, dir_okay=False), help="The library; by default <namespace>.so."
)
@click.option("--namespace", help="The operators' namespace below torch.ops; by default the first file's stem.")
@DTYPES
@click.option("--native", is_flag=True, help="For this machine's processor, instead of any of its architecture.")
@click.option("--ops", multiple=True, help="The signature of a function without a mark; may be repeated.")
@click.option("--backend", shell_complete=backends, help="What compiles CUDA code: nvcc or nvrtc.")
def command(
    files: tuple[Path, ...],
    output: Path | None,
    namespace: str | None,
    dtypes: tuple[str, ...],
    native: bool,
    ops: tuple[str, ...],
    backend: str | None,
) -> None:
    """Write the operators of FILES as one library that needs nothing but PyTorch.

    A C++ program opens it with dlopen, Python with torch.ops.load_library: it registers the operators, gradients
    included. It serves the minor version of PyTorch that is installed here.
    """
    import torch

    import opwright
    from opwright.runtime.binding import TORCH_TYPES

    chosen = [TORCH_TYPES[BY_ANY_NAME[name]] for name in dtypes] or None
    loaded = opwright.load(*files, ops=ops or None, namespace=namespace, backend=backend)
    if not isinstance(loaded, opwright.Operators):
        raise opwright.UnsupportedError(
            f"{files[0]} includes PyTorch's headers, and is no source of kernels: nothing of it can go into a bundle\n"
            "  likely fix: link it into the program itself"
        )
    space = loaded.__loaded__
    written = opwright.bundle(loaded, output or Path(f"{space.namespace}.so"), dtypes=chosen, native=native)
    operators = f"torch.ops.{space.namespace} ({', '.join(dir(loaded))})"
    click.echo(f"{written}: {operators}, for PyTorch {format_minor(torch.__version__)}")
