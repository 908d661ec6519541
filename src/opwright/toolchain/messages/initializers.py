"""The message about a library that ends the process that loads it: what happened, where, what to write."""

from __future__ import annotations

import re
import signal
from typing import TYPE_CHECKING, NamedTuple

from opwright.sources.cpp.tokens import line_of
from opwright.sources.prototypes import statements
from opwright.toolchain.messages.diagnostics import readable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from opwright.toolchain.build.plan import Plan
    from opwright.toolchain.build.trial_load import EndOfProcess

_READ_BYTES = 1 << 16
_MOST_OBJECTS = 5
_MOST_LINES = 8
_FIX = (
    "make it at the first call, where an error can be reported: a static variable inside a function, such as\n"
    "              `static Table &table() { static Table made; return made; }`"
)
_OWN_HEADER = re.compile(r'^\s*#\s*include\s*"(?!opwright\.h")', re.MULTILINE)
"""Global objects may be in such a header, too."""
_THROWN = re.compile(
    r"terminate called after throwing an instance of '(?P<gnu>[^']+)'(?:\s+what\(\):\s*(?P<what>[^\n]*))?|"
    r"terminating (?:due to|with) uncaught exception(?: of type (?P<libcxx>[^\n:]+(?:::[^\n:]+)*))?"
    r"(?:: (?P<text>[^\n]*))?"
)
_NO_OBJECT = re.compile(
    r"(?:using|typedef|template|extern|friend|static_assert|namespace|asm|__asm__|OPWRIGHT)\b|"
    r"[^=({]*\b(?:constexpr|constinit)\b|(?:struct|class|union|enum)\b(?:[^={]*|[^=]*\})\Z"
)
_AT_LOADING = re.compile(r"__attribute__\s*\(\(\s*(?:__)?constructor(?:__)?\b|\[\[\s*gnu::constructor\b")
_OBJECT = re.compile(
    r"(?P<type>[\w:<>,\s*&]+?)[\s*&>]\s*(?P<name>\w+)\s*(?P<array>(?:\[[^\]]*\]\s*)*)(?P<value>=.*|\(.*\)|\{.*\})?\Z",
    re.DOTALL,
)
_BUILT_IN = re.compile(
    r"(?:\s|\b(?:static|const|inline|volatile|thread_local|unsigned|signed|std::|char|short|int|long|bool|float|double|"
    r"u?int\d+_t|size_t|half|float16|bfloat16)\b|\*)+"
)
_OWN_TYPE = re.compile(r"\b(?:struct|class|union)\b[^={]*\{ *\}(?= *\w)")
"""The type that an object's definition defines."""
_ARGUMENT = re.compile(r"\(\s*(?:[\d.&\"-]|\s\))")
_CONSTANT = re.compile(r"=\s*\{?[\s\d\w.+*/,'\"-]*\}?\s*\Z")


class GlobalObject(NamedTuple):
    """A definition that runs code at loading: its line, from 1, and its text without the contents of braces."""

    line: int
    text: str


def explain_end(plan: Plan, ended: EndOfProcess, log: Path) -> str:
    """Return the message about a library that ended the process that loaded it on trial.

    Args:
        plan: the plan of its build.
        ended: how the process ended.
        log: what it printed.
    """
    output = readable(log.read_bytes()[:_READ_BYTES].decode("utf-8", "replace"))
    sources = list(dict.fromkeys(part.unit.source for part in plan.parts if part.unit.source))
    texts = {source: _text(source) for source in sources}
    objects = [(source, each) for source, text in texts.items() for each in global_objects(text)]
    place, what = str(sources[0] if len(sources) == 1 else plan.name), "a global object's constructor"
    if len(objects) == 1 and not any(_OWN_HEADER.search(text) for text in texts.values()):
        source, only = objects[0]
        place = f"{source}:{only.line}"
        what = "this function" if _AT_LOADING.search(only.text) else "this object's constructor"
    rest = [] if _THROWN.search(output) else [line for line in output.splitlines() if line.strip()]
    return "\n".join(
        [
            f"{place}: error: loading this library ends the process: {what} {_what_happened(ended, output)}",
            *(_shown(source, each, texts[source], len(sources) > 1) for source, each in objects[:_MOST_OBJECTS]),
            *([f"      | ... ({len(objects) - _MOST_OBJECTS} more)"] if objects[_MOST_OBJECTS:] else []),
            *(f"  output:     {line}" for line in rest[:_MOST_LINES]),
            f"  likely fix: {_FIX}",
        ]
    )


def _text(source: Path) -> str:
    try:
        return source.read_text("utf-8", "replace")
    except OSError:
        return ""


def _shown(source: Path, each: GlobalObject, text: str, named: bool) -> str:
    line = text.splitlines()[each.line - 1]
    return f"{source.name}:{each.line}: {line}" if named else f"{each.line:5} | {line}"


def _what_happened(ended: EndOfProcess, output: str) -> str:
    if ended.seconds:
        return f"doesn't return within {ended.seconds:g} seconds"
    if thrown := _THROWN.search(output):
        kind, text = thrown["gnu"] or thrown["libcxx"] or "exception", thrown["what"] or thrown["text"]
        return f"throws {kind.strip()}" + (f": {text}" if text else "")
    if ended.status < 0:
        return f"crashes ({_name(-ended.status)})"
    return f"ends it with exit status {ended.status}"


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def global_objects(text: str) -> Iterator[GlobalObject]:
    """Yield the definitions in `text` that run code at loading: objects outside of functions, constructor functions."""
    for statement in statements(text):
        code = " ".join(statement.text.split())
        braces = statement.defined and "(" not in code  # `Table table{3};`: what follows is no body
        if _AT_LOADING.search(code) or _runs_code(code + "{}" * braces if braces or not statement.defined else ""):
            yield GlobalObject(line_of(text, statement.offset), code)


def _runs_code(code: str) -> bool:
    code = _OWN_TYPE.sub("Own", code)
    found = None if _NO_OBJECT.match(code) else _OBJECT.match(code)
    if found is None:
        return False
    value = found["value"] or ""
    if value.startswith("("):  # unless its first argument is a value, it is the declaration of a function
        return bool(_ARGUMENT.match(value))
    if _BUILT_IN.fullmatch(found["type"] + " "):
        return "(" in value
    return not (value.startswith("=") and _CONSTANT.match(value) and "[" in code)
