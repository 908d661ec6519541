"""Commands for setuptools: wheels, editable installations and sdists of projects with libraries."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar

from setuptools import Command
from setuptools.errors import CompileError, SetupError

from opwright.errors import CompileError as RefusedError
from opwright.errors import OpwrightError, PackagingError
from opwright.packaging import library_builder, package_writer, project_files, runtimes
from opwright.packaging.config import Library, read_toml
from opwright.packaging.manylinux import manylinux, without_pytorch
from opwright.toolchain.binary.elf import library_requirements


class build_opwright(Command):  # noqa: N801 - setuptools finds commands by their names
    """The command ``build_opwright``, a part of ``build``, which compiles the libraries of operators.

    In an editable installation, or with ``--inplace``, their packages are written beside the project's sources.
    """

    description = "compile libraries of operators (tool.opwright.libraries)"
    user_options: ClassVar[list[Any]] = [
        ("build-lib=", "d", "the folder to build into"),
        ("inplace", "i", "write the packages beside the project's sources"),
    ]
    boolean_options: ClassVar[list[str]] = ["inplace"]

    def initialize_options(self) -> None:
        """Set the options to their defaults."""
        self.build_lib: str | None = None
        self.inplace = False
        self.editable_mode = False

    def finalize_options(self) -> None:
        """Take the build folder from ``build_py``."""
        self.set_undefined_options("build_py", ("build_lib", "build_lib"))

    @property
    def libraries(self) -> list[Library]:
        """The libraries described in pyproject.toml or setup.py."""
        return [library for _, library in self.distribution.opwright_found.values()]

    def run(self) -> None:
        """Compile all libraries and write their packages."""
        try:
            _check_requirements(self.distribution)
            for library in self.libraries:
                self._build(library)
            self._add_runtimes()
        except RefusedError as error:  # setuptools prints its own errors without a traceback
            raise CompileError(str(error)) from error
        except OpwrightError as error:
            raise SetupError(str(error)) from error

    def _build(self, library: Library) -> None:
        project, source = Path.cwd(), self._folder(library)
        package_writer.check_ours(source)
        in_place = self.editable_mode or self.inplace
        target = source if in_place else Path(self.build_lib or "", *library.name.split("."))
        if self.editable_mode and library.rebuild:
            package_writer.write_rebuilt(library, library_builder.read(library, project), project, target)
        else:
            compiled = library_builder.compiled(library, project, self._say)
            package_writer.write(library, compiled, target, self._runtimes_of(library))
        if in_place:
            (target / ".gitignore").write_text("*\n", "utf-8")  # built files aren't sources

    def _say(self, line: str) -> None:
        self.announce(line, 2)

    @property
    def _minors(self) -> Sequence[str]:
        """The minor versions of PyTorch whose runtimes go into the package; none beside the sources."""
        return () if self.editable_mode or self.inplace else getattr(self.distribution, "opwright_runtimes", ())

    def _runtimes_of(self, library: Library) -> str | None:
        """Return the path from a library's package to the runtimes, which the first library's package holds."""
        if not self._minors:
            return None
        first, own = (each.name.replace(".", "/") for each in (self.libraries[0], library))
        return posixpath.relpath(f"{first}/{runtimes.FOLDER}", own)

    def _add_runtimes(self) -> None:
        first = Path(self.build_lib or "", *self.libraries[0].name.split("."), runtimes.FOLDER)
        work = Path(self.get_finalized_command("build").build_base, "opwright")
        for minor in self._minors:
            runtimes.add(minor, first, work, self._say)

    def _folder(self, library: Library) -> Path:
        """Return the folder that the library's package has among the sources.

        Raises:
            PackagingError: the project has no such parent package.
        """
        build_py = self.get_finalized_command("build_py")
        packages = self.distribution.packages or []
        parent = Path(build_py.get_package_dir(library.package))
        if library.package and (library.package not in packages or not parent.is_dir()):
            listed = ", ".join(sorted(packages)) or "none"
            raise PackagingError(
                f"{library.name}: there is no package {library.package} for it to be part of; packages of this project:"
                f" {listed}\n  likely fix: correct the library's name, or add {parent / '__init__.py'}"
            )
        return parent / library.name.rpartition(".")[2]

    def get_source_files(self) -> list[str]:
        """Return the files for an sdist."""
        project = Path.cwd()
        try:
            return [name for library in self.libraries for name in project_files.distributed(library, project)]
        except OpwrightError as error:
            raise SetupError(str(error)) from error

    def get_outputs(self) -> list[str]:
        """Return the paths of the written files, below ``build_lib``."""
        root = Path(self.build_lib or "")
        return [str(root.joinpath(*lib.name.split("."), name)) for lib in self.libraries for name in self._names(lib)]

    def get_output_mapping(self) -> dict[str, str]:
        """Return, for an editable installation, the mapping from paths below ``build_lib`` to those among sources."""
        if not (self.editable_mode or self.inplace):
            return {}
        root, mapping = Path(self.build_lib or ""), {}
        for library in self.libraries:
            for name in self._names(library):
                built = root.joinpath(*library.name.split("."), name)
                mapping[str(built)] = str(self._folder(library) / name)
        return mapping

    def _names(self, library: Library) -> list[str]:
        rebuilt = self.editable_mode and library.rebuild
        names = package_writer.names(None if rebuilt else library_builder.planned(library, Path.cwd()))
        carried = runtimes.files(self._minors) if library is self.libraries[0] else []
        return [*names, *(f"{runtimes.FOLDER}/{name}" for name in carried)]


def _check_requirements(distribution: Any) -> None:
    """Check that the project requires Opwright, which must be installed to import the package.

    Raises:
        PackagingError: the project doesn't require it.
    """
    names = _names(distribution.install_requires or ())
    if "opwright" not in names:
        listed = ", ".join(f'"{name}"' for name in [*names, "opwright[torch]"])
        in_table = "project" in read_toml(Path.cwd())  # setup()'s arguments are ignored then
        fix = f"[project] dependencies = [{listed}]" if in_table else f"setup(install_requires=[{listed}])"
        raise PackagingError(
            "a package of operators is imported with the help of opwright, and this project doesn't require it\n"
            f"  likely fix: {fix}"
        )


def _names(requirements: Iterable[str]) -> list[str]:
    matches = (re.match(r"\s*([A-Za-z0-9._-]+)", str(each)) for each in requirements)
    return [re.sub(r"[-_.]+", "-", match[1]).lower() for match in matches if match]


def with_operators(build: type) -> type:
    """Extend the ``build`` command: libraries are compiled last."""
    commands = [*build.sub_commands, (build_opwright.__name__, None)]  # type: ignore[attr-defined]
    return type(build.__name__, (build,), {"sub_commands": commands, "__doc__": build.__doc__})


def without_built(egg_info: Any) -> type:
    """Extend the ``egg_info`` command: packages written beside the sources are excluded from the project's."""

    class egg_info_of_sources(egg_info):  # noqa: N801 - as it is called
        __doc__ = egg_info.__doc__

        def run(self) -> None:
            distribution = self.distribution
            built = distribution.opwright_found
            distribution.packages = [name for name in distribution.packages or () if name not in built] or None
            super().run()

    egg_info_of_sources.__name__ = egg_info.__name__
    return egg_info_of_sources


_TAG = ("py3", "none")
"""The tag of wheels for every Python version: their libraries link neither Python nor PyTorch."""


def for_every_python(bdist_wheel: Any) -> type:
    """Extend the ``bdist_wheel`` command: the wheel is for this platform and for every Python version."""

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
    """Return the manylinux tag, which PyPI accepts, if the libraries in a wheel's folder satisfy one; else None."""
    libraries = [*folder.rglob("*.so"), *folder.rglob("*.so.*")]
    required = (without_pytorch(library_requirements(path.read_bytes(), str(path))) for path in libraries)
    return manylinux(required) if libraries else None
