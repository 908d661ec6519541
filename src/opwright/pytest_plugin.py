"""For pytest: the fixture ``opwright_check``. Imports nothing of ours: pytest imports it whatever is tested."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--opwright-level``."""
    group = parser.getgroup("opwright")
    group.addoption(
        "--opwright-level",
        choices=("quick", "normal", "thorough"),
        default="quick",
        help="how thorough the fixture opwright_check is (default: quick)",
    )


@pytest.fixture
def opwright_check(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """`opwright.check` that fails the test where something is wrong: ``opwright_check(ops.my_op, reference=...)``.

    ``--opwright-level`` says how thorough it is, unless the call says ``level=``. Returns the report.
    """
    from opwright.check import check

    def checked(op: Any, reference: Any = None, **options: Any) -> Any:
        __tracebackhide__ = True
        options.setdefault("level", request.config.getoption("--opwright-level"))
        report = check(op, reference, **options)
        if not report.ok:
            pytest.fail(str(report), pytrace=False)
        return report

    return checked
