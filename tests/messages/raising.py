"""What the tests of messages share: the text of an error, and its class exactly."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

Write = Callable[..., Path]


def failing(run: Callable[[], object], error: type[Exception]) -> str:
    """The text of the error, and its class exactly."""
    with pytest.raises(error) as caught:
        run()
    assert type(caught.value) is error
    return str(caught.value)
