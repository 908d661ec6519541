"""Fixtures for pytest. Opwright itself is imported only when one is used, since pytest imports this module always."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

if TYPE_CHECKING:
    from opwright.cuda.emulation import Emulate


class CudaPlace(NamedTuple):
    """The back end and device on which a test runs CUDA kernels.

    Used as ``ops = opwright.load(source, backend=place.backend)``.

    Attributes:
        backend: the argument for `opwright.load`; None on a GPU, for the best available back end.
        device: the device of the tensors: ``"cpu"`` if kernels are emulated, otherwise ``"cuda"``.
    """

    backend: Emulate | None
    device: str


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option ``--opwright-level``."""
    group = parser.getgroup("opwright")
    group.addoption(
        "--opwright-level",
        choices=("quick", "normal", "thorough"),
        default="quick",
        help="how thorough the fixture opwright_check is (default: quick)",
    )


@pytest.fixture
def opwright_check(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Run `opwright.check`, and fail the test if it finds an error: ``opwright_check(ops.my_op, reference=...)``.

    ``--opwright-level`` sets the level, unless the call passes ``level=``. Returns the report.
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
    """Run a test of CUDA kernels in five ways, the last of which is skipped without a GPU.

    Three are emulated, with blocks and threads in forward order, in reverse, and in a random order, which is the same
    in every run. The fourth is emulated with every access checked (`opwright.emulate` with ``check=True``). The fifth
    runs on a GPU.
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
