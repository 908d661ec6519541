"""Which brace is missing: told by the indentation, or else the innermost that is open at the end."""

from __future__ import annotations

import pytest

from opwright.sources.cpp.braces import unbalanced

CASES = {
    "balanced": ("void f() {\n  if (x) {\n  }\n}\n", None),
    "a string and a comment": ('void f() {\n  g("{"); // {\n}\n', None),
    "told by the indentation": ("void f() {\n  if (x) {\n    y;\n}\n\nvoid g() {\n}\n", (4, 2, 1)),
    "at the end": ("void f() {\n  x;\n", (2, 1, 1)),
    "in a namespace": ("namespace n {\nvoid f() {\n  if (x) {\n}\n}\n", (4, 3, 2)),
    "one too many": ("void f() {\n}\n}\n", (3, 0, 0)),
    "branches": ("#if A\nvoid f() {\n#else\nvoid g() {\n#endif\n}\n", None),
}


@pytest.mark.parametrize("name", CASES)
def test_the_missing_brace(name: str) -> None:
    text, expected = CASES[name]
    found = unbalanced(text)
    assert (found and found[:3]) == expected
