"""Projects with libraries of operators, and setuptools run on them in this process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from setuptools import Distribution

from opwright.packaging import plugin

SCALE = """\
#include <opwright.h>
#include "factor.h"
OPWRIGHT("scale(x: T[N], by: float = 2.0) -> (y: T[N]) where T in (f32, f64)")
template <class T>
void scale(Tensor<const T> x, double by, Tensor<T> y) {
  for (int64_t i = 0; i < x.numel(); ++i) y[i] = T(by) * FACTOR * x[i];
}
OPWRIGHT("scale_backward(grad_y: T[N], by: float) -> (grad_x: T[N])")
template <class T>
void scale_backward(Tensor<const T> grad_y, double by, Tensor<T> grad_x) {
  for (int64_t i = 0; i < grad_y.numel(); ++i) grad_x[i] = T(by) * FACTOR * grad_y[i];
}
"""
LIBRARIES = '"my_package.ops" = { sources = ["csrc/*.cpp"], include-dirs = ["include"] }'

Project = Callable[..., Path]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Write a project with one library, and go there: ``project(libraries, package="my_package")``."""

    def write(libraries: str = LIBRARIES, package: str = "my_package", dependencies: str = '["opwright"]') -> Path:
        files = {
            "csrc/scale.cpp": SCALE,
            "include/factor.h": '#include "one.h"\n#define FACTOR ONE\n',
            "include/one.h": "#define ONE 1\n",
            f"src/{package}/__init__.py": "",
            "pyproject.toml": (
                '[build-system]\nrequires = ["setuptools>=77", "opwright"]\n'
                'build-backend = "setuptools.build_meta"\n'
                f'[project]\nname = "my-package"\nversion = "1.0"\ndependencies = {dependencies}\n'
                f"[tool.opwright.libraries]\n{libraries}\n"
            ),
        }
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        monkeypatch.chdir(tmp_path)
        return tmp_path

    return write


def distribution(opwright_libraries: Any = None) -> Distribution:
    """What setuptools makes of the project in the working folder, with or without our entry points."""
    found = Distribution({"script_name": "setup.py"})
    found.parse_config_files()
    plugin.from_pyproject(found)
    if opwright_libraries is not None:
        plugin.from_setup_py(found, "opwright_libraries", opwright_libraries)
    found.set_defaults()
    return found


def run(command: str, **options: Any) -> Distribution:
    """A command of setuptools, run there."""
    found = distribution()
    for name, value in options.items():
        found.get_option_dict(command)[name] = ("test", value)
    found.run_command(command)
    return found
