"""The tokens of C, C++ and CUDA source code, with their offsets, and pairs of matching brackets.

Works on source files and on preprocessed code. Never fails: an unterminated comment or raw string extends to the end of
the text, any other unterminated literal to the end of its line. Macros aren't expanded. Any decoding of the file works:
every non-ASCII character may be part of a name.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

_CONTINUATION = r"\\[ \t\f\v]*\r?\n"
_ESCAPE = rf"(?:{_CONTINUATION}|\\.)"
_LINE_COMMENT = rf"//(?:[^\\\r\n]+|{_CONTINUATION}|\\|\r(?!\n))*"
_BLOCK_COMMENT = r"/\*[^*]*(?:\*(?!/)[^*]*)*(?:\*/)?"
_COMMENT = rf"(?:{_LINE_COMMENT}|{_BLOCK_COMMENT})"
_ENCODING = "(?:u8|[uUL])?"
# Characters of names, including all non-ASCII characters. The classes are negated because re.compile needs 10 ms for a
# range to U+10FFFF. \x40 is @, which is replaced below.
_WORD_CHARACTER = r"[^\x00-/:-\x40\[-\^`{-\x7f]"
_LETTER = r"[^\x00-#%-\x40\[-\^`{-\x7f]"
_LETTER_OR_DIGIT = r"[^\x00-#%-/:-\x40\[-\^`{-\x7f]"
_SUFFIX = f"(?:_{_WORD_CHARACTER}*)?"
_STRING_SUFFIX = f"(?:_{_WORD_CHARACTER}*|sv?(?!{_WORD_CHARACTER}))?"
# @: placeholder for the name of the delimiter's group
_RAW = rf'{_ENCODING}R"(?P<@>[^()\\\s"]{{0,16}})\(.*?(?:\)(?P=@)"{_STRING_SUFFIX}|\Z)'
_QUOTED = rf'{_ENCODING}"(?:[^"\\\r\n]+|{_ESCAPE}|\r(?!\n))*(?:"{_STRING_SUFFIX})?'
_CHAR = rf"{_ENCODING}'(?:[^'\\\r\n]+|{_ESCAPE}|\r(?!\n))*(?:'{_SUFFIX})?"
_NUMBER = rf"\.?[0-9](?:[eEpP][+-]|'?{_WORD_CHARACTER}|\.)*"
_WORD = rf"""(?!{_ENCODING}(?:R"[^()\\\s"]{{0,16}}\(|["'])){_LETTER}{_LETTER_OR_DIGIT}*"""
_SIGN = r"<<<|<=>|->\*?|::|<<=?|<=|>=|&&|\|\||\+\+|--|[-+*/%&|^!=]=|\.\.\.|\.\*|\#\#|[^\s\\]|\\(?![ \t\f\v]*\r?\n)"
_STRING = f"(?P<string>{_RAW.replace('@', 'delimiter')}|{_QUOTED})"
_DIRECTIVE = (
    rf"(?P<directive>\#(?:[^\w/\\\"'\s]|{_WORD}|[ \t]+|{_NUMBER}|{_COMMENT}|{_RAW.replace('@', 'inner')}|{_QUOTED}"
    rf"|{_CHAR}|{_CONTINUATION}|[^\r\n]|\r(?!\n))*)"
)
_FINE = rf"(?P<word>{_WORD})|(?P<comment>{_COMMENT})|(?P<number>{_NUMBER})|{_STRING}|(?P<char>{_CHAR})"
_TOKEN = re.compile(rf"{_FINE}|{_DIRECTIVE}|(?P<sign>{_SIGN})", re.DOTALL)
_TOKEN_IN_DIRECTIVE = re.compile(rf"{_FINE}|(?P<sign>{_SIGN})", re.DOTALL)
_SEGMENT = re.compile(
    rf"(?P<code>(?:[\x00-!%&(-.:<-@\[-\^`|~\x7f]+|{_NUMBER}|{_WORD}|/(?![/*]))+)|(?P<comment>{_COMMENT})"
    rf"|{_STRING}|(?P<char>{_CHAR})|{_DIRECTIVE}|(?P<brace>[{{}};])",
    re.DOTALL,
)
_SPLICE = re.compile(_CONTINUATION)
_UNDECODED = re.compile("[\udc80-\udcff]")
_TEMPLATE = re.compile(r"template\s*<")
_BODY_BEGINS = re.compile(r"\)(?:\s|\b(?:const|noexcept|override|final)\b)*\Z")
_CLOSING = {"(": ")", "[": "]", "{": "}"}


class MalformedError(Exception):
    """Source code that can't be parsed; `offset` is the position of the error."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.offset = offset


class Token(NamedTuple):
    """One token.

    ``>`` is always a separate token, so that brackets of nested template arguments can be matched.

    Attributes:
        kind: ``word``, ``number``, ``string``, ``char``, ``sign``, ``comment`` or ``directive``; for a segment also
            ``code`` and ``brace``.
        text: its text; line continuations within words and signs are left out.
        start: the offset of its first character.
        end: the offset just past its last character.
    """

    kind: str
    text: str
    start: int
    end: int


def tokenize(text: str) -> list[Token]:
    """Return all tokens, including comments; a directive is one token."""
    return _read(_TOKEN, text)


def directive_tokens(directive: Token, text: str) -> list[Token]:
    """Return the tokens of a directive in `text`, including its ``#``."""
    inner = _read(_TOKEN_IN_DIRECTIVE, text[directive.start : directive.end])
    return [token._replace(start=token.start + directive.start, end=token.end + directive.start) for token in inner]


def segments(text: str) -> list[Token]:
    """Split `text` into segments, which are longer than tokens and found faster.

    Segments are comments, literals, directives, ``{``, ``}``, ``;`` (kind ``brace``) and the ``code`` between them,
    including white space and line continuations.
    """
    return [p._replace(text=text[p.start : p.end]) if p.kind == "code" else p for p in _read(_SEGMENT, text)]


def blank(text: str) -> str:
    """Replace all characters except line breaks by spaces."""
    return "\n".join(" " * len(line) for line in text.split("\n"))


def readable(text: str) -> str:
    """Replace each byte that couldn't be decoded by a replacement character (U+FFFD)."""
    return _UNDECODED.sub("\ufffd", text)


def without_comments(text: str, *, directives: bool = True) -> str:
    """Blank out comments, and directives unless `directives` is true; offsets don't change."""
    if "/" not in text and (directives or "#" not in text):
        return text
    dropped = {"comment"} if directives else {"comment", "directive"}
    pieces, at = [], 0
    for token in segments(text):
        if token.kind in dropped:
            pieces += [text[at : token.start], blank(text[token.start : token.end])]
            at = token.end
        elif token.kind == "directive" and "/" in token.text:
            for inner in directive_tokens(token, text):
                if inner.kind == "comment":
                    pieces += [text[at : inner.start], blank(text[inner.start : inner.end])]
                    at = inner.end
    return "".join([*pieces, text[at:]])


def identifiers(text: str) -> set[str]:
    """Return all words in `text`, except those in comments, literals and directives."""
    return {token.text for token in tokenize(text) if token.kind == "word"}


def _read(pattern: re.Pattern[str], text: str) -> list[Token]:
    """Return the pattern's matches as tokens, without line continuations within tokens."""
    for splice in _SPLICE.finditer(text):
        if text[splice.start() - 1 : splice.start()].strip() and text[splice.end() : splice.end() + 1].strip():
            return list(_spliced(pattern, text))
    return [Token(m.lastgroup or "", m.group(), m.start(), m.end()) for m in pattern.finditer(text)]


def _spliced(pattern: re.Pattern[str], text: str) -> Iterator[Token]:
    """Yield the tokens of a text with line continuations within tokens."""
    begin = 0
    while begin < len(text):
        splices = [match.span() for match in _SPLICE.finditer(text, begin)]
        removed = list(accumulate(end - start for start, end in splices))
        cuts = [start - begin - gone for (start, _), gone in zip(splices, [0, *removed], strict=False)]
        pieces = zip([begin, *(end for _, end in splices)], [*(start for start, _ in splices), len(text)], strict=True)
        joined = "".join(text[start:end] for start, end in pieces)
        removed.append(0)  # for positions before the first cut, which have the index -1
        restart = len(text)
        for match in pattern.finditer(joined):
            start = begin + match.start() + removed[bisect_right(cuts, match.start()) - 1]
            end = begin + match.end() + removed[bisect_right(cuts, match.end() - 1) - 1]
            if match.lastgroup == "string" and end - start != match.end() - match.start():
                raw = pattern.match(text, start)  # line continuations in a raw string are kept
                if raw and raw.lastgroup == "string" and raw["delimiter"] is not None:
                    yield Token("string", raw.group(), start, raw.end())
                    restart = raw.end()
                    break
            yield Token(match.lastgroup or "", match.group(), start, end)
        begin = restart


class Tokens:
    """The tokens of `text`, without comments and directives.

    Attributes:
        text: the source code.
    """

    def __init__(self, text: str) -> None:
        """Store the text; it is tokenized on first use."""
        self.text = text

    @cached_property
    def all(self) -> list[Token]:
        """All tokens, in order."""
        return [token for token in tokenize(self.text) if token.kind not in {"comment", "directive"}]

    @cached_property
    def partner(self) -> dict[int, int]:
        """A map from the index of each bracket to the index of the matching bracket, without unmatched brackets."""
        partners: dict[int, int] = {}
        opened: list[int] = []
        for index, token in enumerate(self.all):
            if token.kind != "sign":
                continue
            if token.text in _CLOSING:
                opened.append(index)
            elif token.text in _CLOSING.values():
                while opened and _CLOSING[self.all[opened[-1]].text] != token.text:
                    opened.pop()  # left open by a branch of an #if
                if opened:
                    partners[index] = opened.pop()
                    partners[partners[index]] = index
        return partners

    @cached_property
    def positions(self) -> dict[str, list[int]]:
        """A map from each word and sign to the indices of its tokens, in order."""
        found: dict[str, list[int]] = {}
        for index, token in enumerate(self.all):
            if token.kind in {"word", "sign"}:
                found.setdefault(token.text, []).append(index)
        return found

    def positions_in(self, text: str, first: int, end: int) -> list[int]:
        """Return the indices of a word or sign from token `first` to token `end` (exclusive)."""
        found = self.positions.get(text, [])
        return found[bisect_left(found, first) : bisect_left(found, end)]

    def is_sign(self, index: int, *texts: str) -> bool:
        """Return whether the token at `index` is one of these signs; False if `index` is out of range."""
        return 0 <= index < len(self.all) and self.all[index].kind == "sign" and self.all[index].text in texts

    def is_word(self, index: int, *texts: str) -> bool:
        """Return whether the token at `index` is a word (one of `texts`, if any); False if `index` is out of range."""
        if not 0 <= index < len(self.all) or self.all[index].kind != "word":
            return False
        return not texts or self.all[index].text in texts

    def after_angle(self, index: int) -> int | None:
        """Return the index after the ``>`` that closes the template arguments opened by the ``<`` at `index`.

        None if the ``<`` doesn't open template arguments: a ``;``, a ``{`` or the end of the text comes first.
        """
        depth, at = 0, index
        while at < len(self.all):
            text = self.all[at].text if self.all[at].kind == "sign" else ""
            if text in {"(", "["}:
                at = self.partner.get(at, len(self.all))
            elif text in {";", "{", "}", ")", "]", "&&", "||", "<<<"}:
                return None
            elif text in {"<", ">"}:
                depth += 1 if text == "<" else -1
                if depth == 0:
                    return at + 1
            at += 1
        return None

    def after_template_list(self, index: int) -> int | None:
        """Return the index after the ``>`` that closes the template parameters opened by the ``<`` at `index`, or None.

        A default argument may compare and shift: ``int N, bool B = (N > 2), bool C = N < 3 && N >= 1, int D = int{4}``.
        A ``<`` behind a number or one of the list's own parameters is a comparison.
        """
        depth, at = 0, index
        own, words, assigned = set[str](), list[str](), False  # words: of the current parameter, before its default
        while at < len(self.all):
            token = self.all[at]
            text = token.text if token.kind == "sign" else ""
            if text in {"(", "[", "{"}:
                at = self.partner.get(at, len(self.all))
            elif text in {";", ")", "]", "}", "<<<"}:
                return None
            elif text in {",", "="} and depth == 1:
                if (
                    not assigned
                    and "template" not in words
                    and (words[:1] not in (["class"], ["typename"]) or words[2:])
                ):
                    own |= {*words[-1:]}
                words, assigned = [], text == "="
            elif text == "<" and not (self.all[at - 1].kind == "number" or self.all[at - 1].text in own):
                depth += 1
            elif text == ">" and not (self.is_sign(at + 1, "=") and self.all[at + 1].start == token.end):
                depth -= 1
                if depth == 0:
                    return at + 1
            words += [token.text] if token.kind == "word" and not assigned else []
            at += 1
        return None

    def angle_before(self, index: int) -> int | None:
        """Return the index of the ``<`` that opens the template arguments closed by the ``>`` at `index`, or None."""
        depth, at = 0, index
        while at >= 0:
            text = self.all[at].text if self.all[at].kind == "sign" else ""
            if text in {")", "]", "}"}:
                at = self.partner.get(at, -1)
            elif text in {";", "{", "(", "["}:
                return None
            elif text in {"<", ">"}:
                depth += 1 if text == ">" else -1
                if depth == 0:
                    return at
            at -= 1
        return None

    def enclosing(self, index: int) -> Iterator[int]:
        """Yield the indices of the ``{`` that enclose the token at `index`, innermost first."""
        at = index - 1
        while at >= 0:
            if self.is_sign(at, "}", ")", "]"):
                at = self.partner.get(at, at)
            elif self.is_sign(at, "{"):
                yield at
            at -= 1

    def statement_start(self, index: int) -> int:
        """Return the index of the first token of the statement that contains the token at `index`."""
        at = index
        while at > 0 and not self.is_sign(at - 1, ";", "{", "}", ":", "("):
            at = self.partner.get(at - 1, at - 1) if self.is_sign(at - 1, ")", "]") else at - 1
        return at


def line_of(text: str, offset: int) -> int:
    """Return the number of the line that contains an offset, from 1; line markers are ignored."""
    return text.count("\n", 0, offset) + 1


def after_template_lists(text: str) -> int:
    """Return the offset behind the ``template <...>`` that a declaration begins with, once or several times; else 0."""
    offset = 0
    if _TEMPLATE.match(text):
        tokens, at = Tokens(text), 0
        while tokens.is_word(at, "template") and tokens.is_sign(at + 1, "<"):
            behind = tokens.after_template_list(at + 1)
            if behind is None:
                break
            at, offset = behind, tokens.all[behind - 1].end
    return offset


def is_within_parameters(before: str) -> bool:
    """Return whether a ``{`` behind this part of a declaration is within its parameters: ``int N = int{3}``."""
    if before.count("(") != before.count(")"):
        return before.count("(") > before.count(")")
    if not _TEMPLATE.match(before.lstrip()) or _BODY_BEGINS.search(before):
        return False
    return after_template_lists(before.lstrip()) == 0
