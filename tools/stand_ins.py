"""Builds stand-ins for operators of checkouts, drawn at random from the schemas that can be written, and calls them.

usage: python tools/stand_ins.py FOLDER... [--count 20] [--seed 0]

A stand-in has the operator's signature and a body that sets its results to zero. It is loaded and called with arguments
that `opwright check` would draw; its schema must be that of the checkout, and its results zeros. Backwards are left
out: they are loaded with their forwards.
"""

from __future__ import annotations

import argparse
import random
import sys
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).resolve().parent))

from expressible import difference, found, parse_schema, signature_of

import opwright
from opwright.errors import SourceError
from opwright.runtime.binding import TORCH_TYPES
from opwright.signature import DType, Signature, parse, sample
from opwright.signature.samples import TensorSample
from opwright.sources import scan
from opwright.sources.matching.by_position import declaration

HEAD = """#include <opwright.h>
#include <array>
#include <optional>
#include <string>
#include <string_view>
"""


def source(signature: Signature) -> str:
    """Return a source with the operator; its body sets the results to zero."""
    mark = f'OPWRIGHT("{signature}")'
    template = "".join(f"class {variable}, " for variable in signature.type_variables).rstrip(", ")
    template = f"template <{template}>\n" if template else ""
    (kernel,) = scan(Path("stand_in.cpp"), f"{HEAD}{mark}\n{template}void {signature.name}() {{}}\n").kernels
    body = "".join(_zero(result.name, is_count=result.is_count) for result in signature.results)
    return f"{HEAD}{mark}\n{template}{declaration(kernel)} {{\n{body}}}\n"


def _zero(name: str, *, is_count: bool) -> str:
    return f"  {name} = 0;\n" if is_count else f"  for (int64_t i = 0; i < {name}.numel(); ++i) {name}[i] = 0;\n"


def call(op: Any, signature: Signature, rng: random.Random) -> list[torch.Tensor]:
    """Call the operator with drawn arguments; return its results that are tensors."""
    drawn = sample(signature, rng)
    tensors = {name: None if made is None else _tensor(made) for name, made in drawn.tensors.items()}
    scalars = {n: TORCH_TYPES[value] if isinstance(value, DType) else value for n, value in drawn.scalars.items()}
    results = op(**{**tensors, **scalars})
    listed = list(results) if isinstance(results, (tuple, list)) else [results]
    return [result for result in listed if isinstance(result, torch.Tensor)]


def _tensor(made: TensorSample) -> torch.Tensor:
    return torch.zeros(made.shape, dtype=TORCH_TYPES[made.dtype])


def main() -> int:
    """Build, call and print; return how many failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    words = parser.parse_args()
    rng = random.Random(words.seed)  # noqa: S311 - which ones are drawn is no secret
    written = [
        (each, signature)
        for folder in words.folders
        for each in found(folder)
        for signature, blocked in [signature_of(each.text)]
        if signature and not blocked and "_backward(" not in signature and parse(signature).written
    ]
    failed = 0
    for number, (each, text) in enumerate(rng.sample(written, min(words.count, len(written)))):
        signature = parse(text)
        try:
            ops = opwright.load_inline(f"stand_in_{number}", cpp=source(signature))
            op = getattr(ops, signature.name)
            problem = difference(parse_schema(each.text), op._schema)  # noqa: SLF001 - there is no public one
            if not problem and any(bool(result.ne(0).any()) for result in call(op, signature, rng)):
                problem = "a result isn't zero"
        except (opwright.OpwrightError, SourceError, RuntimeError) as error:
            problem = str(error).splitlines()[0]
        failed += bool(problem)
        print(
            f"{'FAILED' if problem else 'ok':7} {each.place}\n        {text}" + (f"\n        {problem}" * bool(problem))
        )
    print(f"{failed} of {min(words.count, len(written))} failed, drawn from {len(written)} schemas")
    return failed


if __name__ == "__main__":
    sys.exit(main())
