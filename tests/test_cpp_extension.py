"""A script that can't be edited gets ours from `torch.utils.cpp_extension`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from opwright import cpp_extension

SCRIPT = """
from torch.utils.cpp_extension import BuildExtension, CppExtension, load
print(BuildExtension.__module__, CppExtension.__module__, load.__module__)
"""


def test_in_place_and_back() -> None:
    from torch.utils import cpp_extension as theirs

    own = theirs.load
    cpp_extension.substitute()
    cpp_extension.substitute()
    try:
        assert theirs.load is cpp_extension.load
        assert theirs.BuildExtension is cpp_extension.BuildExtension
    finally:
        cpp_extension.restore()
    assert theirs.load is own
    assert theirs.BuildExtension.__module__ == "torch.utils.cpp_extension"


@pytest.mark.slow
def test_opwright_run(tmp_path: Path) -> None:
    (tmp_path / "setup.py").write_text(SCRIPT)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    words = [sys.executable, "-m", "opwright", "run", "setup.py"]
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["opwright.aten.setuptools_ext"] * 2 + ["opwright.aten.jit"]
