"""The commands of setuptools that make wheels, editable installations and sdists of a project with libraries."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar

from setuptools import Command
from setuptools.errors import CompileError, SetupError

from opwright.errors import CompileError as RefusedError
from opwright.errors import OpwrightError, PackagingError
from opwright.packaging import building, files, writing
from opwright.packaging.config import Library, read_toml


class build_opwright(Command):  # noqa: N801 - setuptools finds commands by their names
    """``build_opwright``: compile the libraries of operators, as a part of ``build``.

    In an editable installation, or with ``--inplace``, their packages are written beside the project's sources.
    """

    description = "compile libraries of operators (tool.opwright.libraries)"
    user_options: ClassVar[list[Any]] = [
        ("build-lib=", "d", "the folder to build into"),
        ("inplace", "i", "write the packages beside the project's sources"),
    ]
    boolean_options: ClassVar[list[str]] = ["inplace"]

    def initialize_options(self) -> None:
        """Nothing is known yet."""
        self.build_lib: str | None = None
        self.inplace = False
        self.editable_mode = False

    def finalize_options(self) -> None:
        """Build where Python modules are built."""
        self.set_undefined_options("build_py", ("build_lib", "build_lib"))

    @property
    def libraries(self) -> list[Library]:
        """What was described, in pyproject.toml or setup.py."""
        return [library for _, library in self.distribution.opwright_found.values()]

    def run(self) -> None:
        """Compile and write all."""
        try:
            _check_requirements(self.distribution)
            for library in self.libraries:
                self._build(library)
        except RefusedError as error:  # setuptools prints the text of its own errors alone
            raise CompileError(str(error)) from error
        except OpwrightError as error:
            raise SetupError(str(error)) from error

    def _build(self, library: Library) -> None:
        project, source = Path.cwd(), self._folder(library)
        writing.check_ours(source)
        in_place = self.editable_mode or self.inplace
        target = source if in_place else Path(self.build_lib or "", *library.name.split("."))
        if self.editable_mode and library.rebuild:
            writing.write_rebuilt(library, building.read(library, project), project, target)
        else:
            writing.write(library, building.compiled(library, project, lambda line: self.announce(line, 2)), target)
        if in_place:
            (target / ".gitignore").write_text("*\n", "utf-8")  # what is built isn't source

    def _folder(self, library: Library) -> Path:
        """Where the library's package would stand among the sources.

        Raises:
            PackagingError: the package that it is part of isn't one of the project's.
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
        """What belongs into an sdist."""
        project = Path.cwd()
        try:
            return [name for library in self.libraries for name in files.distributed(library, project)]
        except OpwrightError as error:
            raise SetupError(str(error)) from error

    def get_outputs(self) -> list[str]:
        """The files that are written, in terms of ``build_lib``."""
        root = Path(self.build_lib or "")
        return [str(root.joinpath(*lib.name.split("."), name)) for lib in self.libraries for name in self._names(lib)]

    def get_output_mapping(self) -> dict[str, str]:
        """In an editable installation: where each of those stands."""
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
        return writing.names(None if rebuilt else building.planned(library, Path.cwd()))


def _check_requirements(distribution: Any) -> None:
    """Whoever installs the package needs Opwright to import it: nothing else would bring it.

    Raises:
        PackagingError: the project doesn't require it.
    """
    names = _names(distribution.install_requires or ())
    if "opwright" not in names:
        listed = ", ".join(f'"{name}"' for name in [*names, "opwright[torch]"])
        in_table = "project" in read_toml(Path.cwd())  # then what setup() is given counts for nothing
        fix = f"[project] dependencies = [{listed}]" if in_table else f"setup(install_requires=[{listed}])"
        raise PackagingError(
            "a package of operators is imported with the help of opwright, and this project doesn't require it\n"
            f"  likely fix: {fix}"
        )


def _names(requirements: Iterable[str]) -> list[str]:
    found = (re.match(r"\s*([A-Za-z0-9._-]+)", str(each)) for each in requirements)
    return [re.sub(r"[-_.]+", "-", match[1]).lower() for match in found if match]


def with_operators(build: type) -> type:
    """The ``build`` command, which compiles libraries after all else."""
    commands = [*build.sub_commands, (build_opwright.__name__, None)]  # type: ignore[attr-defined]
    return type(build.__name__, (build,), {"sub_commands": commands, "__doc__": build.__doc__})


def without_built(egg_info: Any) -> type:
    """The ``egg_info`` command, to which packages that were written beside the sources are none of the project's."""

    class egg_info_of_sources(egg_info):  # noqa: N801 - as it is called
        __doc__ = egg_info.__doc__

        def run(self) -> None:
            distribution = self.distribution
            built = distribution.opwright_found
            distribution.packages = [name for name in distribution.packages or () if name not in built] or None
            super().run()

    egg_info_of_sources.__name__ = egg_info.__name__
    return egg_info_of_sources
