"""setuptools' commands on a project with libraries, run in this process."""

from __future__ import annotations

import importlib
import json
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
import torch
from setuptools.errors import SetupError

import opwright
from opwright.packaging import config, library_builder
from opwright.toolchain import find_compiler
from tests.broken import script
from tests.packaging.conftest import LIBRARIES, SCALE, Project, distribution, run

X86 = find_compiler("c++").target.startswith("x86_64-linux")
BUILT = ["scale.cpu.so", *(["scale.cpu.avx2.so", "scale.cpu.avx512.so"] if X86 else [])]


@pytest.mark.filterwarnings("ignore::setuptools.warnings.SetuptoolsDeprecationWarning")  # of commands called so
def test_a_wheel(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = project()
    run("bdist_wheel")
    (wheel,) = (folder / "dist").glob("*.whl")
    assert wheel.name.startswith("my_package-1.0-py3-none-")
    assert "-any" not in wheel.name
    assert "-linux_" not in wheel.name  # PyPI takes it as it is
    with zipfile.ZipFile(wheel) as file:
        names = {name.removeprefix("my_package/ops/") for name in file.namelist() if name.startswith("my_package/ops/")}
        file.extractall(folder / "installed")  # noqa: S202 - our own
    assert names == {"__init__.py", "__init__.pyi", "py.typed", "library.json", *BUILT}

    monkeypatch.syspath_prepend(folder / "installed")
    monkeypatch.delitem(sys.modules, "my_package", raising=False)
    ops = importlib.import_module("my_package.ops")
    x = torch.randn(5, dtype=torch.float64, requires_grad=True)
    torch.testing.assert_close(ops.scale(x, 3.0), 3 * x)
    assert torch.autograd.gradcheck(ops.scale, (x,))
    assert ops.scale is torch.ops.my_package_ops.scale.default
    assert ops.__all__ == ["scale"]  # no backward


def test_an_sdist_has_all_that_a_build_needs(project: Project) -> None:
    folder = project(LIBRARIES.replace(" }", ", variants = false }"))
    run("build_opwright", inplace=1)  # what was built isn't source
    run("sdist")
    (archive,) = (folder / "dist").glob("*.tar.gz")
    with tarfile.open(archive) as file:
        names = {name.partition("/")[2] for name in file.getnames()}
    assert {"csrc/scale.cpp", "include/factor.h", "include/one.h", "pyproject.toml"} <= names
    assert not [name for name in names if name.startswith("src/my_package/ops")]


def test_in_place(project: Project) -> None:
    folder = project()
    for _ in range(2):  # it takes the place of what it wrote before
        run("build_opwright", inplace=1)
    package = folder / "src/my_package/ops"
    assert sorted(p.name for p in package.iterdir()) == sorted(
        [".gitignore", "__init__.py", "__init__.pyi", "py.typed", "library.json", *BUILT]
    )
    assert (package / ".gitignore").read_text() == "*\n"


def test_an_editable_package_that_is_rebuilt(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = project(LIBRARIES.replace("my_package", "edited").replace(" }", ", rebuild = true }"), "edited")
    found = distribution()
    command = found.get_command_obj("build_opwright")
    command.editable_mode = True
    found.run_command("build_opwright")
    package = folder / "src/edited/ops"
    assert not [*package.glob("*.so")]
    assert {Path(p).name for p in command.get_output_mapping().values()} == {p.name for p in package.iterdir()} - {
        ".gitignore"
    }
    monkeypatch.syspath_prepend(folder / "src")
    monkeypatch.delitem(sys.modules, "edited", raising=False)  # another test's extension
    ops = importlib.import_module("edited.ops")
    assert torch.equal(ops.scale(torch.ones(3)), torch.full((3,), 2.0))

    source = folder / "csrc/scale.cpp"
    source.write_text(source.read_text().replace("by: float = 2.0", "by: float = 4.0"))
    again = importlib.reload(ops)
    assert torch.equal(again.scale(torch.ones(3)), torch.full((3,), 4.0))
    assert "by: float = 4.0" in (package / "__init__.pyi").read_text()


def test_setup_py_says_the_same(project: Project) -> None:
    folder = project("")
    table = {"my_package.ops": {"sources": ["csrc/scale.cpp"], "include_dirs": ["include"], "dtypes": ["float32"]}}
    found = distribution(opwright_libraries=table)
    found.run_command("build")
    (facts,) = (folder / "build").glob("lib*/my_package/ops/library.json")
    assert json.loads(facts.read_text())["dtypes"] == ["f32"]


WRONG = [
    (
        LIBRARIES.replace("csrc/*.cpp", "src/*.cpp"),
        (
            "my_package.ops: sources has 'src/*.cpp', which no file in {} matches\n"
            "  files in src: none\n  likely fix: correct the pattern"
        ),
    ),
    (
        LIBRARIES.replace("csrc/*.cpp", "cpp/*.cpp"),
        (
            "my_package.ops: sources has 'cpp/*.cpp', which no file in {} matches\n"
            "  there is no folder cpp; folders here: csrc, include, src\n  likely fix: correct the pattern"
        ),
    ),
    (
        LIBRARIES.replace("csrc/*.cpp", "../x.cpp"),
        (
            "my_package.ops: sources has '../x.cpp', expected a path within the project\n"
            "  likely fix: move the files into the project: what lies outside of it isn't in its sdist"
        ),
    ),
    (
        LIBRARIES.replace("csrc/*.cpp", "include/*.h"),
        (
            "my_package.ops: sources has include/factor.h, expected C, C++ or CUDA "
            "(.c, .cpp, .cc, .cxx, .C, .c++, .cu)\n"
            '  likely fix: headers = ["include/factor.h"], if it is included'
        ),
    ),
    (
        LIBRARIES.replace('"include"', '"includes"'),
        "my_package.ops: include-dirs has 'includes', which is no folder in {}\n  likely fix: correct the path",
    ),
    (
        LIBRARIES.replace("my_package", "other"),
        (
            "other.ops: there is no package other for it to be part of; packages of this project: my_package\n"
            "  likely fix: correct the library's name, or add src/other/__init__.py"
        ),
    ),
    (
        LIBRARIES.replace(" }", ', dtypes = ["int32"] }'),
        (
            "my_package.ops: dtypes = [i32] leave scale without a kernel\n"
            "  signature:  scale(x: T[N], by: float = 2.0) -> (y: T[N]) where T in (f32, f64)\n"
            "  likely fix: add an element type for each of T"
        ),
    ),
]


@pytest.mark.parametrize(("libraries", "text"), WRONG, ids=range(len(WRONG)))
def test_what_cannot_be_built_is_said(project: Project, libraries: str, text: str) -> None:
    folder = project(libraries)
    with pytest.raises(SetupError) as caught:
        run("build_opwright")
    assert str(caught.value) == text.format(folder)


def test_a_module_of_that_name_stays_as_it_is(project: Project) -> None:
    folder = project()
    module = folder / "src/my_package/ops.py"
    module.write_text("x = 1\n")
    with pytest.raises(SetupError, match=r"ops.py: the library wants to be imported by this module's name"):
        run("build_opwright", inplace=1)
    module.unlink()
    (folder / "src/my_package/ops").mkdir()
    (folder / "src/my_package/ops/__init__.py").write_text("x = 1\n")
    with pytest.raises(SetupError, match=r"ops: the library wants to be imported by this package's name"):
        run("build_opwright", inplace=1)


def test_a_project_has_to_require_opwright(project: Project) -> None:
    project(dependencies='["numpy>=1.26"]')
    with pytest.raises(SetupError) as caught:
        run("build_opwright")
    assert str(caught.value) == (
        "a package of operators is imported with the help of opwright, and this project doesn't require it\n"
        '  likely fix: [project] dependencies = ["numpy", "opwright[torch]"]'
    )


def test_a_setup_py_is_told_so_in_python(project: Project) -> None:
    (project("") / "pyproject.toml").unlink()
    with pytest.raises(SetupError, match=r"\n  likely fix: setup\(install_requires=\[\"opwright\[torch\]\"\]\)$"):
        distribution({"my_package.ops": {"sources": ["csrc/*.cpp"]}}).run_command("build_opwright")


def test_said_twice(project: Project) -> None:
    project()
    with pytest.raises(
        SetupError, match=r"my_package.ops is described in pyproject.toml and in setup.py\n  likely fix"
    ):
        distribution(opwright_libraries={"my_package.ops": {"sources": ["csrc/scale.cpp"]}})


def test_a_refused_source_names_its_line(project: Project) -> None:
    folder = project()
    source = folder / "csrc/scale.cpp"
    source.write_text(source.read_text().replace("FACTOR", "FACTR", 1))
    with pytest.raises(Exception, match=rf"^{source}:6:\d+: .*FACTR"):
        run("build_opwright")


def test_a_source_without_a_mark_is_told_what_the_description_can_say(project: Project) -> None:
    folder = project()
    (folder / "csrc/scale.cpp").write_text("int x;\n")
    with pytest.raises(SetupError) as caught:
        run("build_opwright")
    assert str(caught.value).splitlines()[2] == (
        '  or signatures given from outside: the library\'s ops, as ["f(x: f32[N]) -> (y: f32[N])"]'
    )


def test_a_project_without_libraries_is_left_alone(project: Project) -> None:
    folder = project("")
    found = distribution()
    assert not hasattr(found, "opwright_found")
    assert not found.has_ext_modules()
    (folder / "pyproject.toml").unlink()
    assert not hasattr(distribution(), "opwright_found")


def test_torch_is_not_needed_to_build(project: Project) -> None:
    project()
    program = (
        "import sys; sys.modules['torch'] = None\n"
        "from pathlib import Path\n"
        "from opwright.packaging import config, library_builder, package_writer\n"
        "(library,) = config.from_pyproject(Path('.'))\n"
        "package_writer.write(library, library_builder.compiled(library, Path.cwd()), Path('out'))\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
    assert {path.name for path in Path("out").iterdir()} >= {"__init__.py", *BUILT}


@pytest.mark.slow
def test_a_library_is_compiled_with_no_more_compilers_than_max_jobs(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = project()
    (folder / "csrc/other.cpp").write_text(SCALE.replace("scale", "other"))
    compiler = script(
        folder / "c++",
        f'case "$*" in *-o*) mkdir "{folder}/running" || touch "{folder}/two"; sleep 0.2;; esac\n'
        f'{shutil.which("c++")} "$@"; status=$?; rmdir "{folder}/running" 2>/dev/null; exit $status',
    )
    monkeypatch.setenv("CXX", str(compiler))
    monkeypatch.setenv("MAX_JOBS", "1")
    (library,) = config.from_pyproject(folder)
    compiled = library_builder.compiled(library, folder)
    assert len(compiled.libraries) == 2
    assert not (folder / "two").exists()


def test_packaging_error_is_public() -> None:
    assert issubclass(opwright.PackagingError, ValueError)
