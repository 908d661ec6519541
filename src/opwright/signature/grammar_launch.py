"""How a CUDA kernel is launched, read from tokens: ``launch over N, threads 256``."""

from __future__ import annotations

import math

from opwright.signature.expr import Expr
from opwright.signature.grammar_axes import parse_expr
from opwright.signature.model import Launch
from opwright.signature.rules import Written
from opwright.signature.tokens import Tokens

_AXES = "xyz"
_MOST_THREADS, _MOST_ALONG_Z = 1024, 64  # of a block, on every GPU that there is
_EXAMPLE = "launch over N, threads 256"


def parse_launch(tokens: Tokens, written: Written) -> Launch:
    """Read what follows ``launch``: ``over EXPR[, EXPR[, EXPR]], threads N[, N[, N]][, shared EXPR]``."""
    tokens.expect("over", "after 'launch'", _EXAMPLE)
    over = [_counted(tokens, written)]
    while tokens.accept(",") and tokens.word != "threads":
        over.append(_counted(tokens, written))
    if len(over) > len(_AXES):
        fourth = written.launched[len(_AXES)]
        tokens.fail(f"a grid has 3 axes at most, not {len(over)}", "multiply some of them: launch over B*S, N", fourth)
    tokens.expect("threads", "after what a launch is over", _EXAMPLE)
    threads = _threads(tokens, len(over))
    if tokens.word == "," and tokens.peek() == "shared":
        tokens.take()
    shared = _counted(tokens, written) if tokens.accept("shared") else None
    return Launch(tuple(over), threads, shared)


def _counted(tokens: Tokens, written: Written) -> Expr:
    """An expression in which ``...`` counts the elements of the leading axes."""
    written.launched.append(tokens.place)
    return parse_expr(tokens, counting=True)


def _threads(tokens: Tokens, axes: int) -> tuple[int, ...]:
    place, threads = tokens.place, list[int]()
    while not threads or (tokens.word == "," and tokens.peek() != "shared" and tokens.take()):
        if not tokens.word.isdigit():
            tokens.fail(f"expected a number of threads, found {tokens.found()}", _EXAMPLE)
        threads.append(int(tokens.take()))
    if len(threads) > axes:
        tokens.fail(f"threads are given for {len(threads)} axes, and the launch is over {axes}", None, place)
    most = f"a block has at most {_MOST_THREADS} threads"
    if not all(threads) or math.prod(threads) > _MOST_THREADS:
        tokens.fail(f"{most}, and at least 1; found {' * '.join(map(str, threads))}", _EXAMPLE, place)
    if len(threads) == len(_AXES) and threads[-1] > _MOST_ALONG_Z:
        tokens.fail(f"{most}, {_MOST_ALONG_Z} of them along z; found {threads[-1]}", None, place)
    return tuple(threads)
