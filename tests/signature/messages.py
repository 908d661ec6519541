"""What the tests of the notation's messages share."""

from __future__ import annotations

import pytest

from opwright.errors import SignatureError
from opwright.signature import NotationError, parse


def assert_refused(marked: str, message: str, fix: str | None) -> None:
    """Assert that a signature isn't read: the error's whole text, and its place, which ``^`` marks."""
    text, place = marked.replace("^", ""), marked.index("^")
    with pytest.raises(SignatureError) as caught:
        parse(text)
    advice = f"\n  likely fix: {fix}" if fix else ""
    assert str(caught.value) == f"{message}\n  {text}\n  {' ' * place}^{advice}"
    assert isinstance(caught.value, NotationError)
    assert (caught.value.position, caught.value.message, caught.value.fix) == (place, message, fix)
