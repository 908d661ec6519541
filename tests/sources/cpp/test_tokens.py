"""The tokens of C++ and CUDA text, beside those of Clang."""

from __future__ import annotations

import ctypes
import itertools
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from clang import cindex
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from opwright.sources.cpp.directives import conditionals, includes, without_dead_lines
from opwright.sources.cpp.normalized import normalized
from opwright.sources.cpp.tokens import (
    Token,
    Tokens,
    directive_tokens,
    identifiers,
    segments,
    tokenize,
    without_comments,
)

ROOT = Path(__file__).parents[3]
_CLANG_OPTIONS = ["-x", "cuda", "-std=c++20", "-nocudainc", "-nocudalib", "--cuda-host-only", "-nostdinc"]
_SKIP_BODIES = cindex.TranslationUnit.PARSE_SKIP_FUNCTION_BODIES
_KINDS = {1: "word", 2: "word", 4: "comment"}

Span = tuple[str, int, int]


def clang_tokens(text: str) -> Iterator[Span]:
    """Clang's raw tokens; its kind of what is unterminated is unknown, so that only words and comments are told."""
    unit = cindex.Index.create().parse("x.cu", _CLANG_OPTIONS, [("x.cu", text)], _SKIP_BODIES)
    extent = unit.get_extent("x.cu", (0, len(text.encode())))
    tokens, count = ctypes.POINTER(cindex.Token)(), ctypes.c_uint()
    cindex.conf.lib.clang_tokenize(unit, extent, ctypes.byref(tokens), ctypes.byref(count))
    try:
        for token in tokens[: count.value]:
            # The location and the length as they are stored: to ask for each takes three times as long as all else.
            kind, location, length, _ = token.int_data
            start = location - extent.start.int_data
            yield _KINDS.get(kind, ""), start, start + length
    finally:
        cindex.conf.lib.clang_disposeTokens(unit, tokens, count)


def every_token(text: str) -> list[Token]:
    """The tokens with those of directives in their place."""
    inner = (directive_tokens(t, text) if t.kind == "directive" else [t] for t in tokenize(text))
    return list(itertools.chain.from_iterable(inner))


def our_tokens(text: str) -> Iterator[Span]:
    for token in every_token(text):
        yield token.kind if token.kind in {"word", "comment"} else "", token.start, token.end


def compared(text: str, spans: Iterator[Span]) -> Iterator[Span]:
    """Tokens without the line continuations around them, which Clang counts to the next one; each > by itself."""
    for kind, start, end in spans:
        token = text[start:end].rstrip("\\ \t\r\n")
        first = end - len(text[start:end].lstrip("\\ \t\r\n"))
        if text[first] in ">=":
            yield from ((kind, at, at + 1) for at in range(first, start + len(token)) if text[at] in ">=")
        else:
            yield kind, first, start + len(token)


def assert_as_clang(text: str) -> None:
    bytewise = text.encode().decode("latin-1")  # Clang counts bytes
    assert list(compared(bytewise, our_tokens(bytewise))) == list(compared(bytewise, clang_tokens(text)))


@pytest.mark.exhaustive
def test_every_file_of_the_repository() -> None:
    suffixes = {".c", ".cpp", ".cu", ".cuh", ".h"}
    folders = [ROOT / name for name in ("src", "examples", "tests", "benchmarks")]
    files = [path for folder in folders for path in folder.rglob("*") if path.suffix in suffixes and path.is_file()]
    assert len(files) > 100
    for path in files:
        assert_as_clang(path.read_text("utf-8"))


_PIECES = st.sampled_from(
    [
        *("x", "a1", "_b$", " R ", "u8", "L", "OPWRIGHT", " é ", "0", "1'000'000", "0x1'f", "1.5e+3f", ".5", "0b1'0"),
        *('"s"', '"a\\"b"', 'u8"t"', "'c'", "'\\''", "L'\\\\'", '"no end\n', "'n\n", '"it\'s"', '"/*"', '"//"', "'\"'"),
        *('R"(raw)" ', 'R"x(a)" )x" ', 'LR"--(\n#if 0\n/* )--" ', 'R"()"_km ', 'R"(open', '"s"_km', '"s"sv'),
        *("/* block */", "/* two\nlines */", "// line", "// as in kernels/*.cu", "// goes on\\\n here"),
        *("\n", "\n#define A 3 ", "\n#include <a/b.h>", "\n# if 0\n", "\n#endif", "\n#error it's so\n", "#", "##"),
        *("\\\n", "\\\r\n", "\\ \n", " x\\\ny", "1\\\n2", "<\\\n<\\\n<", "/\\\n/ spliced", "/\\\n* */", '"a\\\nb"'),
        *("/*", "*/", "//", "\r\n"),
        *("<<<", ">>>", ">>", ">=", ">>=", "<=>", "<<=", "->*", ".*", "...", "::", "&&", "(", ")", "{", "}", "[", "]"),
        *("<", ">", ";", ",", "+", "-", "*", "&", "=", "!", "??/", "??=", "??'", " ", " ", " ", "\t"),
    ]
)  # fmt: skip


@pytest.mark.slow
@settings(deadline=None, max_examples=400)
@given(st.lists(_PIECES, max_size=25).map("".join))
@example("#define BLOCK 256  // as in kernels/*.cu\nk<<<1, 1>>>();\n/* */")
@example("#define A /* over\ntwo lines */ 3\nx")
@example("#define Q '\"' // \"\nx")
@example("#define S 1'000 // it's\ny")
@example('x\\\ny R"(\\\n)" z\\\nw')
@example('FOOR"(not raw)"')
def test_generated_text_as_clang_reads_it(text: str) -> None:
    assume(not any(_is_unterminated(token) for token in tokenize(text)))  # Clang drops such a comment
    assert_as_clang(text)


def _is_unterminated(token: Token) -> bool:
    return (
        token.kind in {"comment", "directive"}
        and token.text.rpartition("/*")[2].count("*/") == 0
        and "/*" in token.text
    )


def _between(text: str, tokens: Sequence[Token]) -> str:
    """What stands before, between and behind the tokens, but for line continuations."""
    ends = [0, *(token.end for token in tokens)]
    starts = [*(token.start for token in tokens), len(text)]
    gaps = "".join(text[end:start] for end, start in zip(ends, starts, strict=True))
    return re.sub(r"\\[ \t\f\v]*\r?\n", "", gaps)


@settings(deadline=None, max_examples=300)
@given(st.one_of(st.lists(_PIECES, max_size=40).map("".join), st.text(max_size=80)))
def test_any_text_is_read(text: str) -> None:
    tokens = tokenize(text)
    assert all(token.start < token.end for token in tokens)
    assert all(one.end <= other.start for one, other in itertools.pairwise(tokens))
    assert not _between(text, tokens).strip()
    longer = segments(text)
    whole = {token[2:] for token in longer if token.kind not in {"code", "brace"}}
    assert whole == {t[2:] for t in tokens if t.kind in {"comment", "string", "char", "directive"}}
    assert not _between(text, longer)
    for read in (Tokens(text).partner, identifiers(text), includes(text), conditionals(text), normalized(text)):
        assert read is not None
    for shortened in (without_comments(text), without_comments(text, directives=False), without_dead_lines(text)):
        assert len(shortened) == len(text)
        assert shortened.count("\n") == text.count("\n")


@pytest.mark.parametrize(
    "text",
    ['R"(' * 3000, "/*" * 20000, '"\\' * 20000, "'" * 20000, "#" * 20000, "x\\\n" * 3000, "<" * 20000, '#"\\\n' * 5000],
    ids=str.split,
)
def test_nasty_text_takes_no_time(text: str) -> None:
    assert tokenize(text)
    assert segments(text)


def test_words_may_go_on_in_the_next_line() -> None:
    assert [token.text for token in tokenize("ab\\\ncd + 1\\\r\n2")] == ["abcd", "+", "12"]


def test_a_raw_string_keeps_its_continuations() -> None:
    text = 'a\\\nb R"(x)\\\n")" c'
    assert [text[token.start : token.end] for token in tokenize(text)] == ["a\\\nb", 'R"(x)\\\n")"', "c"]


@pytest.mark.parametrize(
    "parameters",
    [
        "", "class T, class... U", "template <class> class W, class T = W<int>", "int N, class T = of<(N > 2), vec<N>>",
        "int N, bool B = N < 3 && N >= 1, int C = (N >> 1)",
        "int N = int{3}, class = decltype([](int x) { return x > 1; })",
        "char C = '>', int N = (2 > 1) ? f(a<b>(c)) : 4", "int N, int M = 4 < N",
    ],
)  # fmt: skip
def test_where_template_parameters_end(parameters: str) -> None:
    tokens = Tokens(f"template <{parameters}> struct S {{ bool b = 1 > 2; }};")
    end = tokens.after_template_list(1)
    assert end is not None
    assert tokens.is_word(end, "struct")


@pytest.mark.parametrize("text", ["template <class T;", "template <class T", "template <class T) f()", "a << b; c > d"])
def test_template_parameters_without_an_end(text: str) -> None:
    assert Tokens(text).after_template_list(1) is None
