"""Parsers of scalar arguments: numbers, strings, choices and lists of numbers, with their domains and defaults."""

from __future__ import annotations

from opwright.signature.domains import Domain
from opwright.signature.grammar.domains import refuse_fractions
from opwright.signature.grammar.parameters import parse_domain
from opwright.signature.grammar.tokens import Tokens
from opwright.signature.parameters import ScalarParam
from opwright.signature.scalar_kinds.choices import Choice, enumerator, written
from opwright.signature.scalar_kinds.lists import MAX_LENGTH, FixedList, OpenList
from opwright.signature.scalars import KINDS, NOTATION_WORDS, ScalarKind, Value

_ELEMENTS = ("float", "int", "bool")


def begins_numbers(tokens: Tokens) -> bool:
    """Return whether a list's elements, whose type is the current token, are numbers; ``bool[N]`` is a tensor."""
    return tokens.word in _ELEMENTS and tokens.peek() != "["


def parse_scalar(tokens: Tokens, name: str) -> ScalarParam:
    """Parse a scalar's type, domain and default; the type is the current token."""
    word = tokens.take()
    kind = KINDS[f"{word}?"] if tokens.accept("?") else KINDS[word]
    if tokens.word == "!":
        tokens.fail(f"{name!r} is a scalar and can't be mutated", f"a 0-dim tensor: {name}: T[]!")
    domain = _parse_scalar_domain(tokens, name, kind) if tokens.word == "in" else None
    default, place = None, tokens.place
    if tokens.accept("="):
        place = tokens.place
        default = parse_default(tokens, name, kind)
    if tokens.word == "in":
        tokens.fail(f"the domain of {name!r} stands before its default", f"{name}: {kind} in [0, 1] = {kind.example}")
    _check_default(tokens, name, kind, default, domain, place)
    return ScalarParam(name, kind, default, domain)


def parse_list(tokens: Tokens, name: str) -> ScalarParam:
    """Parse a list of numbers, its domain and its default; the type of its elements is the current token."""
    base, kind = KINDS[tokens.take()], None
    if tokens.accept(","):
        place, length = tokens.place, tokens.word
        if not length.isdigit() or not 1 <= int(length) <= MAX_LENGTH:
            fix = f"{name}: list[{base}], which may have any length"
            tokens.fail(
                f"the length of {name!r} is a number from 1 to {MAX_LENGTH}, found {tokens.describe()}", fix, place
            )
        tokens.take()
        kind = FixedList(base, int(length))
    tokens.expect("]", "after the elements of a list", f"{name}: list[{base}]")
    for mark, what in (("?", "optional"), ("!", "mutated")):
        if tokens.word == mark:
            tokens.fail(f"{name!r} is a list of numbers and can't be {what}", "leave out the mark")
    domain = _parse_scalar_domain(tokens, name, base) if tokens.word == "in" else None
    default, place = None, tokens.place
    if tokens.accept("="):
        if kind is None:
            tokens.fail(
                f"{name!r} may have any length, so a number isn't its default", f"a length: {name}: list[{base}, 2]"
            )
        place = tokens.place
        if tokens.word == "[":
            fix = f"{name}: {kind} = {base.example}"
            tokens.fail(f"the default of {name!r} is one number, which stands for all elements", fix)
        default = (parse_default(tokens, name, base),) * kind.count
        _check_default(tokens, name, base, default[0], domain, place)
    return ScalarParam(name, kind or OpenList(base), default, domain)


def _check_default(
    tokens: Tokens, name: str, kind: ScalarKind, default: Value, domain: Domain | None, place: int
) -> None:
    """Fail if a default isn't in its domain, as far as that is known before a call."""
    interval = domain.constant if domain else None
    if default is not None and interval is not None and default not in interval:
        fix = f"another default, or another domain for {name!r}"
        tokens.fail(f"the default of {name!r}, {kind.format(default)}, is outside its domain {domain}", fix, place)


def begins_choice(tokens: Tokens) -> bool:
    """Return whether an argument's type begins with a word of a choice: ``nearest | bilinear``."""
    return tokens.kind == "quoted" or (tokens.kind == "name" and tokens.peek() == "|")


def parse_choice(tokens: Tokens, name: str) -> ScalarParam:
    """Parse the words of a choice, and its default."""
    words: list[str] = []
    while not words or tokens.accept("|"):
        place, word = tokens.place, parse_word(tokens, name)
        same = next((other for other in words if enumerator(other) == enumerator(word)), None)
        if same == word:
            tokens.fail(f"{name!r} has the choice {word} twice", "leave one out", place)
        if same is not None:
            both = f"the choices {written(same)} and {written(word)} of {name!r}"
            tokens.fail(f"{both} have the same name in C++, {enumerator(word)}", "rename one", place)
        words.append(word)
    if len(words) == 1:
        tokens.fail(f"{name!r} has one choice only", f"another one: {name}: {written(words[0])} | other")
    for mark, what in (("?", "optional"), ("!", "mutated")):
        if tokens.word == mark:
            fix = f"a choice for it: {name}: none | {written(words[0])}" if mark == "?" else "leave out the mark"
            tokens.fail(f"{name!r} is one of a few words and can't be {what}", fix)
    kind = Choice(words)
    if tokens.word == "in":
        tokens.fail(f"{name!r} is {kind.article}, which has no domain", "leave it out")
    return ScalarParam(name, kind, parse_default(tokens, name, kind) if tokens.accept("=") else None)


def parse_word(tokens: Tokens, name: str) -> str:
    """Parse one of the words of a choice."""
    if tokens.kind == "quoted" and tokens.word != "''":
        return tokens.take()[1:-1]
    if tokens.kind != "name":
        tokens.fail(f"expected a choice for {name!r}, found {tokens.describe()}", f"{name}: mean | sum | 'other-word'")
    if tokens.word in NOTATION_WORDS:
        what = f"{tokens.word!r} has a meaning in the notation, so as a choice it stands in single quotes"
        tokens.fail(what, f"'{tokens.word}'")
    return tokens.take()


def _parse_scalar_domain(tokens: Tokens, name: str, kind: ScalarKind) -> Domain:
    place = tokens.place
    if not kind.is_ordered:
        tokens.fail(f"{name!r} is {kind.article}, which has no domain", "leave it out")
    domain = parse_domain(tokens, name)
    refuse_fractions(tokens, name, domain, place, whole=kind.is_whole)
    return domain


def parse_default(tokens: Tokens, name: str, kind: ScalarKind) -> Value:
    """Parse a default; that of an optional scalar is None, as if none were written, or a value."""
    if kind.is_optional and tokens.accept("None"):
        return None
    place, negative = tokens.place, kind.has_sign and tokens.accept("-")
    value: Value = kind.parse(tokens.word)
    if value is None:
        tokens.fail(
            f"{tokens.word or 'the end'} isn't a default for {name!r}, which is {kind.article}",
            f"{name}: {kind} = {kind.example}",
            place,
        )
    tokens.take()
    value = -value if negative else value
    if problem := kind.range_error(value):
        tokens.fail(f"the default of {name!r} {problem}", None, place)
    return value
