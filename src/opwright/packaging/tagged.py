"""The command of setuptools that makes wheels, for those that serve every Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from opwright.packaging.platforms import manylinux
from opwright.toolchain.needs import needs

_TAG = ("py3", "none")
"""Such a wheel serves every Python: what it holds links neither Python nor PyTorch."""


def for_every_python(bdist_wheel: Any) -> type:
    """The ``bdist_wheel`` command, for a wheel of this platform that asks for no certain Python."""

    class bdist_wheel_of_operators(bdist_wheel):  # noqa: N801 - as it is called
        __doc__ = bdist_wheel.__doc__

        def finalize_options(self) -> None:
            super().finalize_options()
            self.root_is_pure = False

        def get_tag(self) -> tuple[str, str, str]:
            python, abi, platform = super().get_tag()
            if not self.distribution.ext_modules:
                python, abi = _TAG
            if not self.plat_name_supplied and platform.startswith("linux_"):
                platform = _manylinux(Path(self.bdist_dir)) or platform
            return python, abi, platform

    bdist_wheel_of_operators.__name__ = bdist_wheel.__name__
    return bdist_wheel_of_operators


def _manylinux(folder: Path) -> str | None:
    """The tag that PyPI takes, where what lies in a wheel's folder keeps what that promises."""
    libraries = [*folder.rglob("*.so"), *folder.rglob("*.so.*")]
    return manylinux(needs(path.read_bytes(), str(path)) for path in libraries) if libraries else None
