from __future__ import annotations

import subprocess
import sys

import pytest

import opwright.signature


def test_importing_is_light() -> None:
    code = "import sys; import opwright.signature; print(*sorted(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(run.stdout.split())
    assert "opwright.signature.grammar.parser" in loaded
    assert not loaded & {"torch", "numpy", "dataclasses", "inspect", "random", "opwright.signature.samples"}


def test_every_public_name_is_there() -> None:
    assert all(hasattr(opwright.signature, name) for name in opwright.signature.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        opwright.signature.nothing  # noqa: B018
