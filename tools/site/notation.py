"""The page of the notation's grammar: its comments, rules, examples and their schemas."""

from __future__ import annotations

from pathlib import Path

import opwright.signature
from opwright.signature import parse
from opwright.signature.schema import schema

GRAMMAR = Path(opwright.signature.__file__).parent / "notation.lark"
_HEAD = """# The notation

The grammar of signatures, as `src/opwright/signature/notation.lark` has it: tests hold the parser to it, both
ways. A name on the left of a colon is a rule; what stands in quotes is written as it is; `[a]` may be left out,
`a*` stands any number of times, `a | b` is one of them; `/.../` is a regular expression. A rule with `{...}` is
a pattern for several. Below each part stand signatures, and the schemas that PyTorch is given for them. What
they mean is told in [the signature](../signature.md), what the kernel gets in [From the signature to
C++](../signature_to_cpp.md).
"""


def page() -> str:
    """Return the page, in Markdown."""
    return _HEAD + "".join(map(_part, GRAMMAR.read_text(encoding="utf-8").split("\n\n")))


def _part(paragraph: str) -> str:
    lines = paragraph.splitlines()
    examples = [line.removeprefix("//> ") for line in lines if line.startswith("//> ")]
    prose = " ".join(line.removeprefix("// ") for line in lines if line.startswith("// "))
    rules = "\n".join(line for line in lines if not line.startswith("//"))
    title, _, text = prose.partition(". ")
    shown = "\n".join(f"{example}\n    {schema(parse(example))}" for example in examples)
    examples_block = f"```text\n{shown}\n```\n" if examples else ""
    return f"\n## {title.rstrip('.')}\n\n{text}\n\n```text\n{rules}\n```\n\n{examples_block}"
