"""For pytest: fixtures. Imports nothing of ours before one is used: pytest imports it whatever is tested."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

if TYPE_CHECKING:
    from opwright.cuda.emulation import Emulate


class CudaPlace(NamedTuple):
    """Where a test runs CUDA kernels: ``ops = opwright.load(source, backend=place.backend)``.

    Attributes:
        backend: of `opwright.load`; None on a GPU, for the best one that there is.
        device: of the tensors: ``"cpu"`` where kernels are emulated, else ``"cuda"``.
    """

    backend: Emulate | None
    device: str


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
            pytest.fail(f"{report.first}\n{report}", pytrace=False)
        return report

    return checked


@pytest.fixture(params=["forward", "reverse", "random", "checked", "gpu"])
def cuda_place(request: pytest.FixtureRequest) -> Iterator[CudaPlace]:
    """Where CUDA kernels are run: a test with this fixture is five, of which the last is skipped without a GPU.

    Emulated, with blocks and threads forward, in reverse and in a random order, which doesn't change from run to run;
    emulated with every access watched (`opwright.emulate` with ``check=True``); and on a GPU.
    """
    import opwright

    if request.param == "gpu":
        import torch

        if not torch.cuda.is_available():
            pytest.skip("there is no GPU")
        yield CudaPlace(None, "cuda")
    elif request.param == "checked":
        yield CudaPlace(opwright.emulate(check=True), "cpu")
    else:
        from opwright.cuda.emulation import order

        with order(request.param, seed=1):
            yield CudaPlace(opwright.emulate(), "cpu")
