"""Columns of rewritten lines become those of the author's lines, or are left out."""

from __future__ import annotations

import pytest

from opwright.toolchain.messages.columns import lines_of, realigned

REWRITTEN = """# 1 "unit.cpp"
# 5 "/k.cu"
void same(int i) { lost; }

void launched() { launch(configuration(1, 2), "k", [&]() -> void { k(x + lost + y); }); }
# 7 "/k.cu"
void twice() { call(lost, "lost"); }
# 1 "/other.h" 1
int lost;
# 8 "/k.cu" 2
	x = expanded(3);  lost;
"""


def said(line: int, rewritten: str, shown: str, word: str = "lost") -> str:
    column = rewritten.index(word) + 1
    mark = " " * (column - 1) + "^~~~"
    return (
        f"/k.cu:{line}:{column}: error: 'lost' isn't declared\n {line:4} | {shown}\n      | {mark}\n      | fix\nmore"
    )


@pytest.mark.parametrize(
    ("line", "shown", "becomes"),
    [
        (7, "void launched() { k<<<1, 2>>>(x + lost + y); }", 35),
        (8, "\tx = MACRO;  lost;", 14),
        (9, "void twice() { TWICE(lost, lost); }", 0),
        (9, "void twice() { MACRO; }", 0),
    ],
)
def test_of_a_line_that_was_rewritten(line: int, shown: str, becomes: int) -> None:
    lines = lines_of(REWRITTEN.replace("# 7", "# 9"))
    [compiled] = lines["/k.cu", line]
    first, below, *rest = realigned(said(line, compiled, shown), lines).split("\n")
    assert below == f" {line:4} | {shown}"
    place = f"/k.cu:{line}:{becomes}:" if becomes else f"/k.cu:{line}:"
    assert first == f"{place} error: 'lost' isn't declared"
    if becomes:
        before = "".join("\t" if letter == "\t" else " " for letter in shown[: becomes - 1])
        assert rest == [f"      | {before}^", "more"]
        assert shown[becomes - 1 :].startswith("lost")
    else:
        assert rest == ["more"]


def test_others_are_as_they_were() -> None:
    shown = "void same(int i) { lost; }"
    lines = lines_of(REWRITTEN)
    log = said(5, shown, shown)
    assert realigned(log, lines) == log
    for other in (
        log.replace("/k.cu", "/another.cu"),
        "c++: fatal error: killed",
        "",
    ):
        assert realigned(other, lines) == other


def test_without_the_line() -> None:
    log = "/k.cu:7:62:   required from here\n/t.h:9:34: error: static assertion failed"
    assert realigned(log, lines_of(REWRITTEN)) == log.replace(":62", "")


def test_of_lines_that_stand_in_the_text_twice() -> None:
    """A file that is included twice: the column is told if both have the same word there."""
    text = '# 1 "/k.cu"\nint a; expanded lost;\n# 1 "/k.cu"\nint b; expanded lost;\n'
    log = said(1, "int a; expanded lost;", "INT M lost;")
    assert realigned(log, lines_of(text)).startswith("/k.cu:1:7: error")
    assert realigned(log, lines_of(text.replace("b; expanded lost", "b; expanded fine"))).startswith("/k.cu:1: error")
