"""opwright audit: wheels that are whole, and wheels that are broken in one way each."""

from __future__ import annotations

import functools
import json
import subprocess
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import opwright
from opwright.cli.audit import command
from opwright.packaging.audit import Target, audit
from opwright.toolchain import find_compiler

MACHINE = find_compiler("c").target.partition("-")[0]
TAG = f"py3-none-manylinux_2_35_{MACHINE}"
FACTS = {
    "format": 1,
    "opwright": "0.1",
    "name": "p.ops",
    "signatures": ["f(x: f32[N]) -> (y: f32[N])"],
    "kernels": {"f": {"cpu": "f.cpu"}},
    "dtypes": None,
    "libraries": {"f.cpu": {"default": "f.cpu.so"}},
}

Make = Callable[..., Path]


@functools.cache
def compiled(text: str, *words: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder, "f.c"), Path(folder, "f.so")
        source.write_text(text)
        subprocess.run([find_compiler("c").path, "-shared", "-fPIC", source, "-o", library, *words], check=True)
        return library.read_bytes()


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Write a wheel: ``make(text of C, *words for the compiler, tag=, facts=, requires=, files=)``."""

    def write(
        text: str = "int f(void) { return 0; }",
        *words: str,
        tag: str = TAG,
        facts: Mapping[str, Any] | None = FACTS,
        requires: tuple[str, ...] = ("opwright[torch]",),
        python: str = "",
        files: Mapping[str, bytes] | None = None,
    ) -> Path:
        metadata = "Metadata-Version: 2.1\nName: p\nVersion: 1.0\n" + "".join(f"Requires-Dist: {r}\n" for r in requires)
        metadata += f"Requires-Python: {python}\n" * bool(python)
        inside = {"p/ops/f.cpu.so": compiled(text, *words), "p-1.0.dist-info/METADATA": metadata.encode()}
        if facts is not None:
            inside["p/ops/library.json"] = json.dumps(facts).encode()
        path = tmp_path / f"p-1.0-{tag}.whl"
        with zipfile.ZipFile(path, "w") as file:
            for name, data in {**inside, **(files or {})}.items():
                if data:
                    file.writestr(name, data)
        return path

    return write


def wrong(path: Path, **target: Any) -> list[tuple[str, str]]:
    report = audit(path, Target(**target) if target else None)
    return [(finding.topic, finding.text) for _, finding in report.wrong]


def test_a_whole_one(make: Make) -> None:
    assert wrong(make()) == []
    assert wrong(make(), python=(3, 10), torch=(2, 10), glibc=(2, 35), machine=MACHINE) == []


def test_the_requirements_of_an_extra_are_not_the_package_s(make: Make) -> None:
    path = make(requires=("opwright[torch]>=0.1", 'opwright[check]; extra == "dev"'))
    found = [each for section in audit(path).sections for each in section.findings if each.topic == "requirements"]
    assert [(each.state, each.text) for each in found] == [("ok", "opwright[torch]>=0.1")]


SO = "p/ops/f.cpu.so"
NO_PYTHON = "it serves only the Python that its tags name: it needs PyLong_FromLong"
BROKEN: list[tuple[dict[str, Any], list[str], list[tuple[str, str]]]] = [
    (
        {"text": "extern int PyLong_FromLong(long); int f(void) { return PyLong_FromLong(1); }"},
        [],
        [(SO, NO_PYTHON)],
    ),
    (
        {"text": "extern int _ZN2at5emptyEv(void); int f(void) { return _ZN2at5emptyEv(); }"},
        [],
        [(SO, "it serves only the PyTorch that it was built with: it needs _ZN2at5emptyEv")],
    ),
    ({}, ["-Wl,-rpath,/build/lib"], [(SO, "it searches libraries in /build/lib, a folder of the building machine")]),
    ({}, ["-Wl,-z,execstack"], [(SO, "it asks for an executable stack, which hardened systems refuse")]),
    (
        {"tag": "py3-none-manylinux_2_17_s390x"},
        [],
        [(SO, f"it is for {MACHINE}, and the wheel for manylinux_2_17_s390x")],
    ),
    ({"requires": ("numpy",)}, [], [("requirements", "it doesn't require opwright, which imports its operators")]),
    (
        {"requires": ('opwright[torch]; extra == "gpu"',)},
        [],
        [("requirements", "it doesn't require opwright, which imports its operators")],
    ),
    ({"files": {SO: b""}}, [], [("p/ops", "f.cpu.so isn't in the wheel")]),
    (
        {"facts": {**FACTS, "libraries": {"f.cpu": {"avx2": "f.cpu.so"}}}},
        [],
        [("p/ops", "f.cpu has no build for every processor, only avx2")],
    ),
    (
        {"facts": {"format": 1, "project": "/src/p"}},
        [],
        [("p/ops", "it compiles the sources in /src/p when it is used: an editable installation's")],
    ),
    (
        {"facts": None, "files": {"p/ops/library.json": b"{"}},
        [],
        [("p/ops", "library.json can't be read: Expecting property name enclosed in double quotes: line 1 column 2")],
    ),
    *(
        ({"facts": {**FACTS, key: value}}, [], [("p/ops", "library.json can't be read: it isn't what Opwright writes")])
        for key, value in [
            ("format", "one"),
            ("format", True),
            ("libraries", ["a"]),
            ("libraries", {"f.cpu": "f.cpu.so"}),
            ("libraries", {"f.cpu": {"default": 1}}),
            ("kernels", None),
            ("kernels", {"f": ["cpu"]}),
            ("dtypes", "f32"),
            ("dtypes", [1]),
        ]
    ),
    (  # what can't be judged hasn't passed; nothing else of it is read
        {"facts": {"format": 2, "libraries": 1}},
        [],
        [("p/ops", "a newer Opwright built it (format 2): this one can't judge it")],
    ),
    (
        {"files": {"p/other.so": b"\x7fELF\x02\x01" + bytes(20)}},
        [],
        [("p/other.so", "it is no shared library that can be read (it ends too early)")],
    ),
]


@pytest.mark.parametrize(("options", "words", "expected"), BROKEN, ids=range(len(BROKEN)))
def test_what_is_broken_is_found(
    make: Make, options: dict[str, Any], words: list[str], expected: list[tuple[str, str]]
) -> None:
    rest = {key: value for key, value in options.items() if key != "text"}
    found = wrong(make(options.get("text", "int f(void) { return 0; }"), *words, **rest))
    assert [(topic, text[: len(expected[0][1])]) for topic, text in found] == expected


def test_a_foreign_library_is_wrong_unless_it_is_carried(make: Make, tmp_path: Path) -> None:
    other = tmp_path / "libother.so"
    words = ["-shared", "-fPIC", "-x", "c", "/dev/null", "-Wl,-soname,libother.so", "-o", str(other)]
    subprocess.run([find_compiler("c").path, *words], check=True)
    linked = ("-Wl,--no-as-needed", str(other))
    text = "int f(void) { return 0; }"
    assert wrong(make(text, *linked)) == [(SO, "it needs libother.so, which not every Linux has")]
    assert wrong(make(text, *linked, files={"p.libs/libother.so": other.read_bytes()})) == []


@pytest.mark.skipif(MACHINE != "x86_64", reason="the version is x86-64's")
def test_a_tag_that_promises_too_much(make: Make) -> None:
    newer = '__asm__(".symver exp,exp@GLIBC_2.29"); double exp(double); double f(double x) { return exp(x); }'
    words = ("-fno-builtin", "-lm")
    path = make(newer, *words, tag="py3-none-manylinux_2_17_x86_64")
    assert wrong(path) == [("glibc", f"the tag promises 2.17, but it needs glibc >= 2.29 (GLIBC_2.29 in {SO})")]
    assert wrong(make(newer, *words), glibc=(2, 28)) == [("glibc", "not with 2.28: it needs GLIBC_2.29")]


TARGETS: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({}, {"python": (3, 9)}, "not with 3.9: Opwright needs Python 3.10 or newer"),
    ({"python": ">=3.12"}, {"python": (3, 11)}, "not with 3.11: it requires Python >=3.12"),
    ({"tag": TAG.replace("py3-none", "cp311-cp311")}, {"python": (3, 12)}, "not with 3.12: its tags are cp311-cp311-"),
    ({}, {"torch": (2, 9)}, "not with 2.9: Opwright needs PyTorch 2.10 or newer"),
    ({"requires": ("opwright", "torch<2.12")}, {"torch": (2, 13)}, "not with 2.13: it requires torch<2.12"),
    ({}, {"gpu": (9, 0)}, "not with 9.0: there is no code for GPUs in it"),
    ({}, {"machine": "riscv64"}, "not with riscv64: its tags are py3-none-"),
]


@pytest.mark.parametrize(("options", "target", "text"), TARGETS, ids=range(len(TARGETS)))
def test_what_keeps_it_from_a_machine(make: Make, options: dict[str, Any], target: dict[str, Any], text: str) -> None:
    ((_, found),) = wrong(make(**options), **target)
    assert found.startswith(text)


@pytest.mark.parametrize(
    ("codes", "gpu", "runs"),
    [
        (["sm_80"], (8, 6), True),
        (["sm_86"], (8, 0), False),
        (["sm_80"], (9, 0), False),
        (["sm_80", "compute_80"], (9, 0), True),
        (["sm_90a"], (9, 0), True),
        (["compute_90a"], (10, 0), False),
    ],
)
def test_gpus(codes: list[str], gpu: tuple[int, int], runs: bool) -> None:
    from opwright.packaging.audit.checks import Target, target_findings
    from opwright.packaging.audit.wheel import Wheel
    from opwright.toolchain.binary.elf import LibraryRequirements

    needs = LibraryRequirements("x86_64", (), {}, frozenset(), (), (), tuple(codes))
    wheel = Wheel(Path("p-1-py3-none-any.whl"), frozenset(), {}, (), {"a.so": needs}, {}, frozenset())
    ((finding),) = target_findings(wheel, Target(gpu=gpu))
    assert finding.state == ("ok" if runs else "wrong")


def test_the_command(make: Make) -> None:
    path = make()
    done = CliRunner().invoke(command, [str(path)])
    assert done.exit_code == 0, done.output
    assert done.output.splitlines()[0] == path.name
    assert done.output.splitlines()[-1] == "nothing stops it"
    done = CliRunner().invoke(command, [str(path), "--python", "3.9", "--json"])
    assert done.exit_code == 1
    report = json.loads(done.output)[path.name]
    assert not report["ok"]
    assert [section["name"] for section in report["sections"]] == [
        "platform",
        "operators",
        "libraries",
        "GPUs",
        "there",
    ]


@pytest.mark.parametrize(
    ("option", "example"), [("--python", "3.12"), ("--torch", "2.10"), ("--glibc", "2.28"), ("--gpu", "9.0")]
)
def test_what_is_no_version(option: str, example: str) -> None:
    done = CliRunner().invoke(command, ["p-1.0-py3-none-any.whl", option, "ninety"])
    assert done.exit_code == 2
    assert done.output.endswith(f"'ninety' is no version, expected as in {example}\n")


def test_a_section_s_name_is_not_said_again(make: Make) -> None:
    bare = make(facts=None, files={SO: b""})
    for section in [*audit(bare).sections, *audit(make(), Target(gpu=(9, 0))).sections]:
        assert section.name not in [finding.topic for finding in section.findings]


def test_each_wheel_is_looked_into_whatever_the_others_are(make: Make, tmp_path: Path) -> None:
    good, broken = make(), tmp_path / "q-1.0-py3-none-any.whl"
    broken.write_bytes(b"PK")
    done = CliRunner().invoke(command, [str(broken), str(tmp_path / "x.zip"), str(good)])
    assert done.exit_code == 1
    lines = done.output.splitlines()
    assert lines[:4] == [
        broken.name,
        f"WRONG  wheel: file: {broken} can't be read as a wheel: File is not a zip file",
        "       -> build the wheel again",
        "1 thing is wrong: wheel (file)",
    ]
    assert "x.zip has no wheel's name" in lines[5]
    assert lines[-1] == "nothing stops it"


def test_what_is_no_wheel(tmp_path: Path) -> None:
    with pytest.raises(opwright.PackagingError, match=r"has no wheel's name, expected as in my_package-1.0-py3-none-"):
        audit(tmp_path / "x.zip")
    path = tmp_path / "p-1.0-py3-none-any.whl"
    with pytest.raises(opwright.PackagingError, match="can't be read as a wheel: No such file"):
        audit(path)
    with zipfile.ZipFile(path, "w"):
        pass
    with pytest.raises(opwright.PackagingError, match=r"any\.whl is no wheel: it has no \.dist-info/METADATA\n"):
        audit(path)
    path.write_bytes(b"PK")
    with pytest.raises(opwright.PackagingError, match="can't be read as a wheel: File is not a zip file"):
        audit(path)
