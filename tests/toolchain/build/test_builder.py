"""What is compiled, what is not, and that the library is the right one each time."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from opwright.errors import CompileError, ToolchainError
from opwright.toolchain import Built, Options, Unit, build, build_many, include_line
from opwright.toolchain.build.builder import look_up
from opwright.toolchain.cache import manifest

Compile = Callable[..., Built]
Answer = Callable[[Built], int]
Answering = Callable[..., Path]
EXPORT = 'extern "C" __attribute__((visibility("default"))) '


def test_a_library_is_made_and_found_again(
    compile_source: Compile, answering: Answering, answer: Answer, counting: Callable[[], int], cache: Path
) -> None:
    first = compile_source(answering("41"))
    again = compile_source(answering("41"))
    assert (first.cached, again.cached) == (False, True)
    assert first.path == again.path
    assert answer(first) == 41
    assert counting() == 1
    assert cache in first.path.parents
    assert first.path.name.startswith("op-")
    assert first.path.suffix == ".so"
    assert first.log is None
    assert first.seconds > 0


def test_an_edit_compiles_and_its_reverting_does_not(
    compile_source: Compile, answering: Answering, answer: Answer, counting: Callable[[], int]
) -> None:
    one = compile_source(answering("1"))
    two = compile_source(answering("2"))
    assert (answer(one), answer(two)) == (1, 2)
    assert one.path.name != two.path.name
    back = compile_source(answering("1"))
    assert back.cached
    assert back.path == one.path
    assert counting() == 2


def test_a_header_edit_compiles_and_its_reverting_does_not(
    compile_source: Compile, answering: Answering, answer: Answer, counting: Callable[[], int], project: Path
) -> None:
    source = answering("VALUE", '#include "value.h"')
    results = []
    for value in (1, 2, 1, 2):
        (project / "value.h").write_text(f"#define VALUE {value}\n")
        results.append(compile_source(source))
    assert [answer(built) for built in results] == [1, 2, 1, 2]
    assert [built.cached for built in results] == [False, False, True, True]
    assert results[0].path.name != results[1].path.name
    assert counting() >= 2


def test_a_touched_file_is_no_change(compile_source: Compile, answering: Answering) -> None:
    source = answering("1")
    compile_source(source)
    source.touch()
    assert compile_source(source).cached


def test_same_size_and_date_but_other_content_is_a_change(
    compile_source: Compile, answering: Answering, answer: Answer
) -> None:
    import os

    source = answering("1")
    os.utime(source, ns=(10**18, 10**18))
    compile_source(source)
    answering("2")
    os.utime(source, ns=(10**18, 10**18))
    built = compile_source(source)
    assert not built.cached
    assert answer(built) == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    "other",
    [
        {"debug": True},
        {"native": False},
        {"define": ("X=2",)},
        {"extra_cflags": ("-fno-inline",)},
        {"extra_ldflags": ("-lm",)},
        {"std": "c++20"},
        {"identity": "something else"},
    ],
    ids=str,
)
def test_every_option_is_part_of_the_key(
    compile_source: Compile, answering: Answering, answer: Answer, other: dict[str, object]
) -> None:
    source = answering("7")
    first = compile_source(source)
    second = compile_source(source, **other)
    assert not second.cached
    assert first.path.name != second.path.name
    assert answer(second) == 7
    assert compile_source(source, **other).cached


def test_the_compiler_is_part_of_the_key(
    compile_source: Compile,
    answering: Answering,
    gxx: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    make_script: Callable[[Path, str], Path],
) -> None:
    source = answering("7")
    compile_source(source)
    wrapper = make_script(tmp_path / "g++", f'exec "{gxx}" "$@"')
    monkeypatch.setenv("CXX", str(wrapper))
    assert not compile_source(source).cached
    assert compile_source(source).cached
    make_script(wrapper, f'exec "{gxx}" "$@"  # an update')
    assert not compile_source(source).cached


@pytest.mark.parametrize("variable", ["CPATH", "CPLUS_INCLUDE_PATH"])
def test_search_paths_in_the_environment_are_part_of_the_key(
    compile_source: Compile, answering: Answering, answer: Answer, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, variable: str,
) -> None:  # fmt: skip
    source = answering("VALUE", "#include <the_value.h>")
    for value in (1, 2):
        folder = tmp_path / f"include{value}"
        folder.mkdir()
        (folder / "the_value.h").write_text(f"#define VALUE {value}\n")
        monkeypatch.setenv(variable, str(folder))
        assert answer(compile_source(source)) == value


def test_folders_that_opwright_run_adds_are_not(
    compile_source: Compile, answering: Answering, monkeypatch: pytest.MonkeyPatch
) -> None:
    from opwright.legacy.th_library import header_dirs

    source = answering("7")
    compile_source(source)
    monkeypatch.setenv("CPLUS_INCLUDE_PATH", os.pathsep.join(map(str, header_dirs())))
    assert compile_source(source).cached


def test_cpu_and_version_are_part_of_the_key(
    compile_source: Compile, answering: Answering, monkeypatch: pytest.MonkeyPatch
) -> None:
    import opwright
    from opwright.toolchain.build import plan

    source = answering("7")
    compile_source(source)
    compile_source(source, native=False)
    monkeypatch.setattr(plan, "cpu_features", lambda: "another processor")
    assert not compile_source(source).cached
    assert compile_source(source, native=False).cached
    monkeypatch.setattr(opwright, "__version__", "999", raising=False)
    assert not compile_source(source, native=False).cached


def test_a_new_header_that_hides_another_is_seen(
    compile_source: Compile, answering: Answering, answer: Answer, tmp_path: Path, project: Path
) -> None:
    near, far = tmp_path / "near", tmp_path / "far"
    (far / "lib" / "deep").mkdir(parents=True)
    (near / "lib").mkdir(parents=True)
    (far / "lib" / "deep" / "value.h").write_text("#define VALUE 1\n")
    source = answering("VALUE", '#include "lib/deep/value.h"')
    dirs = (near, far)
    assert answer(compile_source(source, include_dirs=dirs)) == 1
    (near / "lib" / "deep").mkdir()
    (near / "lib" / "deep" / "value.h").write_text("#define VALUE 2\n")
    assert answer(compile_source(source, include_dirs=dirs)) == 2
    (project / "lib" / "deep").mkdir(parents=True)
    (project / "lib" / "deep" / "value.h").write_text("#define VALUE 3\n")
    assert answer(compile_source(source, include_dirs=dirs)) == 3


def test_a_new_header_that_hides_a_system_header_is_seen(
    compile_source: Compile, answering: Answering, answer: Answer, tmp_path: Path
) -> None:
    folder = tmp_path / "include"
    folder.mkdir()
    source = answering("INT_MAX == 5", "#include <limits.h>")
    assert answer(compile_source(source, include_dirs=(folder,))) == 0
    (folder / "limits.h").write_text("#define INT_MAX 5\n")
    assert answer(compile_source(source, include_dirs=(folder,))) == 1


def test_system_include_dirs_are_taken_at_their_identity(
    compile_source: Compile, answering: Answering, answer: Answer, tmp_path: Path
) -> None:
    package = tmp_path / "package"
    package.mkdir()
    source = answering("VALUE", "#include <package.h>")
    found = []
    for value, identity in ((1, "1.0"), (2, "1.0"), (2, "2.0")):
        (package / "package.h").write_text(f"#define VALUE {value}\n")
        found.append(answer(compile_source(source, system_include_dirs=(package,), identity=identity)))
    assert found == [1, 1, 2]


def test_extra_units_are_compiled_in_their_own_language(project: Path, answer: Answer) -> None:
    c = project / "part.c"
    c.write_text("int restricted(int *restrict new) { return *new + 1; }\n")  # neither word may stand in C++
    unit = Unit(
        "mixed",
        f'extern "C" int restricted(int *);\n{EXPORT}int answer() {{ int x = 8; return restricted(&x); }}\n',
        extra=(Unit("part", include_line(c) + "\n", c, "c"),),
    )
    built = build(unit)
    assert answer(built) == 9
    assert build(unit).cached
    c.write_text("int restricted(int *restrict new) { return *new + 2; }\n")
    assert answer(build(unit)) == 10


def test_units_with_words_of_their_own(answer: Answer) -> None:
    def unit(value: int) -> Unit:
        part = Unit("part", "int part(void) { return VALUE; }\n", language="c", cflags=(f"-DVALUE={value}",))
        text = (
            f'#ifdef VALUE\n#error VALUE\n#endif\nextern "C" int part();\n{EXPORT}int answer() {{ return part(); }}\n'
        )
        return Unit("words", text, extra=(part,))

    assert [answer(build(unit(value))) for value in (1, 2, 1)] == [1, 2, 1]
    assert build(unit(2)).cached


def test_a_c_unit_alone(project: Path, answer: Answer, compile_source: Compile) -> None:
    source = project / "plain.c"
    source.write_text('__attribute__((visibility("default"))) int answer(void) { int class = 3; return class; }\n')
    assert answer(compile_source(source, "c")) == 3


def test_generated_code_without_a_source(answer: Answer) -> None:
    assert answer(build(Unit("generated", f"{EXPORT}int answer() {{ return 5; }}\n"))) == 5


def test_rebuild_compiles_what_is_cached(answering: Answering, answer: Answer, counting: Callable[[], int]) -> None:
    source = answering("1")
    unit = Unit("op", include_line(source) + "\n", source)
    first = build(unit)
    assert build(unit).cached
    again = build(unit, rebuild=True)
    assert not again.cached
    assert again.path != first.path  # a loader that failed to load the one would not look at it again
    assert answer(build(unit)) == 1
    assert build(unit).path == again.path
    assert counting() == 2


@pytest.mark.slow
@pytest.mark.parametrize("damage", [b"", b"foreign", b"{}", b'[{"library": 3}]', b"[[]]", b"\xff\xfe"])
def test_a_damaged_manifest_costs_a_compilation_only(
    compile_source: Compile, answering: Answering, answer: Answer, damage: bytes
) -> None:
    source = answering("1")
    manifest = compile_source(source).path.parent / "manifest.json"
    assert manifest.exists()
    manifest.write_bytes(damage)
    built = compile_source(source)
    assert not built.cached
    assert answer(built) == 1
    assert compile_source(source).cached


def test_a_truncated_or_missing_library_is_built_again(
    compile_source: Compile, answering: Answering, answer: Answer
) -> None:
    source = answering("1")
    path = compile_source(source).path
    path.write_bytes(path.read_bytes()[:100])
    assert not compile_source(source).cached
    path.unlink()
    built = compile_source(source)
    assert not built.cached
    assert answer(built) == 1


def test_progress_speaks_only_when_something_is_compiled(answering: Answering) -> None:
    source = answering("1")
    lines: list[str] = []
    for _ in range(2):
        build(Unit("op", include_line(source) + "\n", source), on_progress=lines.append)
    assert len(lines) == 1
    assert lines[0].startswith("compiling op (")


def test_build_many_keeps_the_order_and_shares_the_cache(
    answer: Answer, counting: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAX_JOBS", "2")
    units = [Unit(f"u{i}", f"{EXPORT}int answer() {{ return {i}; }}\n") for i in (3, 1, 2, 3)]
    assert [answer(built) for built in build_many(units)] == [3, 1, 2, 3]
    assert counting() == 3  # the two equal ones are one
    assert all(built.cached for built in build_many(units))
    assert build_many([]) == []


def test_build_many_reports_the_one_that_fails() -> None:
    units = [Unit("good", "int x;\n"), Unit("bad", "int x = ;\n"), Unit("fine", "int y;\n")]
    with pytest.raises(CompileError, match=r"bad\.opwright\.cpp:1:9: error: expected"):
        build_many(units)


def test_a_source_edited_while_it_is_compiled_is_compiled_again(
    answering: Answering, answer: Answer, gxx: str, tmp_path: Path, project: Path,
    monkeypatch: pytest.MonkeyPatch, make_script: Callable[[Path, str], Path], compile_source: Compile,
) -> None:  # fmt: skip
    source = answering("1")
    newer = answering("2", path=project / "newer.txt")
    make_script(
        tmp_path / "g++", f'"{gxx}" "$@"; s=$?; case " $* " in *" -v "*) ;; *) cp "{newer}" "{source}";; esac; exit $s'
    )
    monkeypatch.setenv("CXX", str(tmp_path / "g++"))
    assert answer(compile_source(source)) == 2


def test_files_that_never_rest_are_an_error(
    answering: Answering, gxx: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    make_script: Callable[[Path, str], Path], compile_source: Compile,
) -> None:  # fmt: skip
    source = answering("1")
    make_script(
        tmp_path / "g++", f'"{gxx}" "$@"; s=$?; case " $* " in *" -v "*) ;; *) echo // >>"{source}";; esac; exit $s'
    )
    monkeypatch.setenv("CXX", str(tmp_path / "g++"))
    with pytest.raises(ToolchainError, match=r"op: its files change faster"):
        compile_source(source)


def test_warnings_are_kept_in_the_log(compile_source: Compile, answering: Answering) -> None:
    source = answering("1; int unused = 0")
    assert compile_source(source).log is None
    log = compile_source(source, extra_cflags=("-Wall",)).log
    assert log is not None
    assert "unused" in log.read_text()


def test_two_builds_share_no_static_data(compile_source: Compile, answering: Answering) -> None:
    before = "template <class T> int &counter() { static T value = 0; return value; }"
    libraries = []
    for step in (1, 2):
        built = compile_source(answering(f"counter<int>() += {step}", before))
        libraries.append(ctypes.CDLL(str(built.path), mode=ctypes.RTLD_GLOBAL))
    assert [library.answer() for library in libraries for _ in range(2)] == [1, 2, 2, 4]


def test_a_warm_build_starts_no_process_and_imports_nothing_heavy(
    compile_source: Compile, answering: Answering
) -> None:
    source = answering("1")
    compile_source(source)
    heavy = ["subprocess", "filelock", "platformdirs", "shutil", "tempfile", "concurrent.futures"]
    code = f"""
import sys
from pathlib import Path
from opwright.toolchain import Unit, build, include_line
source = Path({str(source)!r})
assert build(Unit("op", include_line(source) + "\\n", source)).cached
print(sorted(set({heavy!r}) & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("name", ["../../evil", "a b", "", ".", "ä" * 300, "x/y"])
def test_a_unit_name_stays_inside_the_cache(name: str, cache: Path) -> None:
    built = build(Unit(name, "int x;\n"))
    assert built.path.parent.parent == cache / "units"
    assert built.path.exists()


def test_options_default() -> None:
    assert Options() == Options(debug=False, native=True, std="c++17")


def test_an_object_for_other_libraries_to_link() -> None:
    made = build(Unit("relocatable", 'extern "C" int relocatable() { return 7; }'), Options(relocatable=True))
    assert made.path.read_bytes()[16] == 1  # ET_REL
    whole = build(
        Unit("whole", 'extern "C" int relocatable();\nextern "C" int whole() { return relocatable(); }'),
        Options(extra_ldflags=(str(made.path),)),
    )
    assert whole.path.read_bytes()[16] == 3  # ET_DYN; without the object the linker would miss a symbol


def test_what_is_in_the_cache_needs_no_compiler(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CXX", raising=False)
    source = tmp_path / "kept.cpp"
    source.write_text('#include <vector>\nextern "C" int kept() { return 1; }\n')
    unit = Unit("kept", include_line(source) + "\n", source)
    built = build(unit)
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    monkeypatch.setattr(manifest, "stamp", lambda _files: "")  # its headers are gone as well
    assert look_up(unit) == built.path
    assert build(unit)[::2] == (built.path, True)
    calls: list[Callable[[], Built]] = [lambda: build(unit, rebuild=True), lambda: build(Unit("new", "int new_one;"))]
    for call in calls:
        with pytest.raises(ToolchainError, match=r"^no C\+\+ compiler: none of c\+\+, g\+\+, clang\+\+ is on the PATH"):
            call()
    source.write_text("int other;\n")
    with pytest.raises(ToolchainError, match=r"^no C\+\+ compiler"):
        build(unit)
    (cache / "compilers" / "last-c++.json").write_text("[]")
    with pytest.raises(ToolchainError, match=r"^no C\+\+ compiler"):
        look_up(unit)
