"""Which headers a source is compiled with, and that it means the same with each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from opwright import CompileError
from opwright.aten import headers
from opwright.aten import precompiled_header as pch
from opwright.aten.pytorch import find_torch
from opwright.errors import ToolchainError

MODULE = "PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { %s }"


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("torch::Tensor f(torch::Tensor x) { return x; }" + MODULE % 'm.def("f", &f);', "slim"),
        (MODULE % 'm.def("f", &f, py::arg("x"), py::call_guard<py::gil_scoped_release>());', "slim"),
        ("#include <vector>\n#include <ATen/Parallel.h>\n", "slim"),
        ("// torch::nn and py::class_ in a comment", "slim"),
        (MODULE % 'py::class_<A>(m, "A");', "light"),
        (MODULE % 'm.doc() = "text";', "light"),
        ("py::object f(py::list x);", "light"),
        ("TORCH_LIBRARY(a, m) {}", "light"),
        ("struct F : torch::autograd::Function<F> {};", "light"),
        ("#include <torch/csrc/autograd/function.h>", "light"),
        ("PYBIND11_MODULE(TORCH_EXTENSION_NAME, m, py::mod_gil_not_used()) {}", "light"),
        ("torch::nn::Linear layer(1, 1);", "full"),
        ("using namespace torch;", "full"),
        ("namespace F = torch::nn::functional;", "full"),
    ],
)
def test_what_a_source_names_decides(tmp_path: Path, text: str, level: str) -> None:
    path = tmp_path / "a.cpp"
    path.write_text(text)
    assert headers.least_level(headers.read(path, [])) == level


def test_headers_beside_it_count(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "b.h").write_text("py::object g();")
    (tmp_path / "a.h").write_text('#include "b.h"\n')
    path = tmp_path / "a.cpp"
    path.write_text('#include "a.h"\n#include "a.cpp"\n')
    assert headers.least_level(headers.read(path, [])) == "slim"
    assert headers.least_level(headers.read(path, [str(tmp_path / "inner")])) == "light"
    assert headers.read(path, []).digest != headers.read(path, [str(tmp_path / "inner")]).digest


@pytest.mark.parametrize(
    ("level", "said", "following"),
    [
        ("slim", "a.cpp:1:1: error: 'torch::sigmod' has not been declared", None),
        ("slim", "a.cpp:1:1: error: expected ';' before '}'", None),
        ("slim", "a.cpp:1:1: error: 'AutogradContext' was not declared in this scope", "light"),
        ("slim", "x: error: incomplete type 'opwright_binding::Value<A>' used", "light"),
        ("light", "a.cpp:1:1: error: 'Sequential' is not a member of 'torch'", "full"),
        ("light", "a.cpp:1:1: error: 'Tensr' is not a member of 'torch'", None),
        ("full", "a.cpp:1:1: error: 'Sequential' is not a member of 'torch'", None),
    ],
)
def test_more_headers_only_where_they_may_help(level: headers.Level, said: str, following: str | None) -> None:
    assert headers.next_level(level, said, find_torch()) == following


BOUND = """
#include <map>
using Tensor = torch::Tensor;
std::tuple<Tensor, int64_t, std::string> several(const Tensor &x, std::string text) {
  return {x, x.numel(), text + "!"};
}
double scaled(double x, int n, bool negative, float y) { return (negative ? -x : x) * n + y; }
std::vector<Tensor> listed(std::vector<Tensor> xs, at::IntArrayRef sizes) {
  xs.push_back(torch::zeros(sizes));
  return xs;
}
std::optional<Tensor> maybe(std::optional<Tensor> x, std::optional<int64_t> n) { if (x && n) return *x + *n; return x; }
void filled(Tensor &x, at::Scalar value) { x.fill_(value); }
Tensor cast(Tensor x, at::ScalarType type, at::Device device) { return x.to(device, type); }
Tensor over(Tensor x) { return x; }
Tensor over(Tensor x, Tensor y) { return x + y; }
std::pair<int64_t, double> both() { return {1, 2.5}; }
Tensor quiet(Tensor x) { torch::NoGradGuard guard; return x * 2; }
void thrown() { throw std::out_of_range("too far"); }
int64_t checked(int64_t n) { TORCH_CHECK_INDEX(n > 0, "not positive: ", n); return n; }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("several", &several, "Three.", py::arg("x"), py::arg("text") = "a");
  m.def("scaled", scaled, py::arg("x"), py::arg("n") = 2, py::arg("negative") = false, py::arg("y") = 0.5f);
  m.def("listed", &listed);
  m.def("maybe", &maybe, py::arg("x") = std::nullopt, py::arg("n").none(true) = std::nullopt);
  m.def("filled", &filled);
  m.def("cast", &cast);
  m.def("over", static_cast<Tensor (*)(Tensor)>(&over)).def("over", static_cast<Tensor (*)(Tensor, Tensor)>(&over));
  m.def("both", &both, py::call_guard<py::gil_scoped_release>());
  m.def("quiet", torch::wrap_pybind_function(quiet));
  m.def("thrown", &thrown);
  m.def("checked", torch::wrap_pybind_function_no_gil(checked));
  m.def("lambda", [](int64_t a, int64_t b) { py::gil_scoped_release released; return a - b; });
  m.def("strict", [](double x) { return x; }, py::arg("x").noconvert());
}
"""
X = torch.arange(3.0)
CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("several", (X,), {}), ("several", (X, "b"), {}), ("several", (), {"text": "c", "x": X}), ("several", (X, 1), {}),
    ("scaled", (1.5,), {}), ("scaled", (1, 3, True, 2), {}), ("scaled", (1, 2.5), {}), ("scaled", ("1",), {}),
    ("listed", ([X, X], [2, 1]), {}), ("listed", ((X,), (2,)), {}), ("listed", ([], X), {}), ("listed", ([1], []), {}),
    ("maybe", (), {}), ("maybe", (X, 2), {}), ("maybe", (None, 2), {}), ("maybe", (2,), {}),
    ("filled", (X.clone(), 2.5), {}), ("filled", (X.clone(), "a"), {}), ("cast", (X, torch.int64, "cpu"), {}),
    ("cast", (X, torch.float64, torch.device("cpu")), {}), ("over", (X,), {}), ("over", (X, X), {}), ("over", (1,), {}),
    ("both", (), {}), ("quiet", (X,), {}), ("thrown", (), {}), ("checked", (0,), {}), ("checked", (3,), {}),
    ("lambda", (2**40, 1), {}), ("lambda", (2**70, 1), {}), ("strict", (1,), {}), ("strict", (1.0,), {}),
]  # fmt: skip
EXPECTED = {
    4: 3.5, 5: -1.0, 23: (1, 2.5), 27: 3, 28: 2**40 - 1, 31: 1.0,
}  # fmt: skip


def outcome(module: ModuleType, call: tuple[str, tuple[Any, ...], dict[str, Any]]) -> object:
    name, args, kwargs = call
    try:
        return getattr(module, name)(*args, **kwargs)
    except Exception as error:  # noqa: BLE001 - compared
        return type(error), str(error)


def equal(one: object, other: object) -> bool:
    if isinstance(one, torch.Tensor):
        return isinstance(other, torch.Tensor) and one.dtype == other.dtype and torch.equal(one, other)
    if isinstance(one, (list, tuple)):
        return type(one) is type(other) and len(one) == len(other) and all(map(equal, one, other))
    return type(one) is type(other) and one == other


@pytest.mark.slow
def test_slim_bindings(module: Callable[..., ModuleType]) -> None:
    made = module(BOUND)
    results = [outcome(made, call) for call in CALLS]
    assert all(results[index] == value for index, value in EXPECTED.items())
    assert equal(results[0], (X, 3, "a!"))
    assert equal(results[8], [X, X, torch.zeros(2, 1)])
    assert equal(results[13], X + 2)
    assert equal(results[21], X + X)
    assert results[25] == (IndexError, "too far")
    assert results[26][0] is IndexError  # type: ignore[index]
    assert results[26][1].startswith("not positive: 0")  # type: ignore[index]
    for index in (3, 6, 7, 10, 11, 15, 22, 29):
        assert results[index][0] is TypeError, CALLS[index]  # type: ignore[index]


@pytest.mark.exhaustive
def test_slim_bindings_are_those_of_pybind11(module: Callable[..., ModuleType]) -> None:
    slim, real = module(BOUND), module(BOUND + "\n// py::class_: with all of pybind11\nusing All = py::object;\n")
    for call in CALLS:
        assert equal(outcome(slim, call), outcome(real, call)), call
    for name in {call[0] for call in CALLS}:
        assert getattr(slim, name).__doc__ == getattr(real, name).__doc__
    assert slim.over.__doc__.startswith("over(*args, **kwargs)\nOverloaded function.")


@pytest.mark.exhaustive
def test_a_source_gets_the_headers_that_it_turns_out_to_need(
    source: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """`Custom` isn't among the types that slim knows: pybind11's caster for it is the source's own."""
    from opwright.cpp_extension import load

    text = (
        "struct Custom {}; int f(std::map<std::string, int64_t> x) { return int(x.size()); }"
        + MODULE % 'm.def("f", &f);'
    )
    path = source("#include <map>\n" + text)
    assert load("unforeseen", [path], verbose=True).f({"a": 1}) == 1  # type: ignore[union-attr]
    assert "needs more of PyTorch's headers" in capsys.readouterr().err
    source("#include <map>\n" + text + "\n// edited\n")
    load("unforeseen", [path], verbose=True)
    assert "needs more" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("said", "following"),
    [
        ("'class at::Tensor' has no member named 'linear'", None),
        ("no member named 'linear' in 'at::Tensor'", None),
        ("'lineer' is not a member of 'torch'; did you mean 'Linear'?", None),
        ("invalid use of incomplete type 'class Mine'", None),
        ("no member named 'optim' in namespace 'torch'", "full"),
        ("'torch::optim' has not been declared", "full"),
        ("invalid use of incomplete type 'class torch::nn::LinearImpl'", "full"),
    ],
)
def test_what_a_compiler_misses(said: str, following: str | None) -> None:
    text = f"/x/a.cpp:3:1: error: {said}\nfull log: /x/build.log"
    assert headers.next_level("light", text, find_torch()) == following


@pytest.mark.exhaustive
def test_a_macro_with_a_name_of_our_headers(
    module: Callable[..., ModuleType], capsys: pytest.CaptureFixture[str]
) -> None:
    """PyTorch's own have no `Held`, so that PyTorch's builder takes it."""
    assert headers.spoils_slim(["Held"])
    assert not headers.spoils_slim(["FACTOR", "NDEBUG"])
    text = "int f() { return Held; }" + MODULE % 'm.def("f", &f);'
    assert module(text, extra_cflags=["-DHeld=7"], verbose=True).f() == 7
    assert "needs more" not in capsys.readouterr().err


@pytest.mark.slow
def test_a_mistake_is_no_reason_for_more_headers(
    source: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    from opwright.cpp_extension import load

    path = source("torch::Tensor f(torch::Tensor x) {\n  return torch::sigmod(x);\n}")
    with pytest.raises(CompileError, match=rf"^{path}:3:\d+: error: 'sigmod' is not a member of 'torch'"):
        load("mistaken", [path], verbose=True)
    assert "needs more" not in capsys.readouterr().err


def test_what_the_variable_may_say(monkeypatch: pytest.MonkeyPatch) -> None:
    assert pch.mode() == "wait"
    monkeypatch.setenv("OPWRIGHT_PRECOMPILE", "perhaps")
    with pytest.raises(ToolchainError, match="OPWRIGHT_PRECOMPILE='perhaps': expected background, wait or off"):
        pch.mode()


def test_headers_that_the_compiler_refuses_are_not_tried_again(tmp_path: Path) -> None:
    folder = tmp_path / "pch"
    folder.mkdir(mode=0o700)
    (folder / pch.HEADER).write_text("#error no\n")
    wanted = pch.Prefix(folder, ("c++",))
    assert not pch.make(wanted)
    assert "#error no" in (folder / "refused.log").read_text()
    assert wanted.is_refused
    (folder / pch.HEADER).write_text("\n")
    assert not pch.make(wanted)


def test_headers_compiled_beside_another_process(tmp_path: Path) -> None:
    import time

    folder = tmp_path / "pch"
    folder.mkdir(mode=0o700)
    (folder / pch.HEADER).write_text("inline int one() { return 1; }\n")
    wanted = pch.Prefix(folder, ("c++",))
    pch.make_beside(wanted)
    for _ in range(600):
        if wanted.is_made:
            break
        time.sleep(0.1)
    assert wanted.is_made


def kept(folder: Path, *ages: float) -> list[str]:
    """Entries as large as headers compiled ahead, used so many seconds ago; which of them are there."""
    import os
    import time

    for index, age in enumerate(ages):
        entry = folder / f"light-{index}"
        entry.mkdir(parents=True, mode=0o700)
        with open(entry / pch.COMPILED, "wb") as file:
            file.truncate(450 << 20)
        os.utime(entry / pch.COMPILED, (time.time() - age,) * 2)
    return sorted(path.name for path in folder.iterdir())


def one_more(folder: Path) -> bool:
    wanted = pch.Prefix(folder / "slim-new", ("c++",))
    wanted.folder.mkdir(mode=0o700)
    (wanted.folder / pch.HEADER).write_text("\n")
    return pch.make(wanted)


HOUR = 3600.0


def test_sets_of_flags_that_are_used_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By size and last use, whatever their flags and levels."""
    monkeypatch.delenv("OPWRIGHT_CACHE_SIZE", raising=False)  # 5 GiB, and so 2.5 for these
    kept(tmp_path / "pch", HOUR, 2 * HOUR, 3 * HOUR, 4 * HOUR)
    assert one_more(tmp_path / "pch")
    assert kept(tmp_path / "pch") == ["light-0", "light-1", "light-2", "light-3", "slim-new"]


def test_the_least_recently_used_make_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPWRIGHT_CACHE_SIZE", raising=False)
    kept(tmp_path / "pch", 5 * HOUR, HOUR, 2 * HOUR, 3 * HOUR, 4 * HOUR)
    assert one_more(tmp_path / "pch")
    assert kept(tmp_path / "pch") == ["light-1", "light-2", "light-3", "light-4", "slim-new"]


def test_what_is_used_in_turns_does_not_drive_each_other_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPWRIGHT_CACHE_SIZE", "2G")
    kept(tmp_path / "pch", 1, 2, 40 * 86400)
    assert not one_more(tmp_path / "pch")
    assert kept(tmp_path / "pch") == ["light-0", "light-1", "slim-new"]  # of the new one the text alone


def test_without_a_limit_only_what_nobody_uses_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPWRIGHT_CACHE_SIZE", "0")
    kept(tmp_path / "pch", *([20 * 86400.0] * 8), 31 * 86400)
    assert one_more(tmp_path / "pch")
    assert kept(tmp_path / "pch") == [*(f"light-{index}" for index in range(8)), "slim-new"]
