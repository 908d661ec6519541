"""`PYBIND11_MODULE` in a source whose `<torch/torch.h>` stands in a header of the project."""

from __future__ import annotations

from pathlib import Path

import pytest

from opwright.migrate import examine

MODULE = '#include "a.h"\n#include <vector>\n\nPYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {}\n'


def found(folder: Path, text: str, **headers: str) -> Path:
    for name, header in headers.items():
        (folder / f"{name}.h").write_text(header)
    (folder / "op.cpp").write_text(text)
    return folder / "op.cpp"


def test_the_source_gets_the_header_that_has_pybind11(tmp_path: Path) -> None:
    source = found(tmp_path, MODULE, a='#include "b.h"\n', b="#include <torch/torch.h>\n")
    examined = examine(source)
    assert [(one.line, one.name) for one in examined.findings] == [(4, "PYBIND11_MODULE after <torch/torch.h>")]
    assert examined.after.decode() == f"#include <torch/extension.h>\n{MODULE}"
    source.write_bytes(examined.after)
    assert examine(source).findings == ()


def test_beside_another_change_of_the_same_include(tmp_path: Path) -> None:
    text = '#include <THC/THCAtomics.cuh>\n#include "a.h"\nPYBIND11_MODULE(x, m) {}\n'
    examined = examine(found(tmp_path, text, a="#include <torch/torch.h>\n"))
    assert examined.after.decode().startswith("#include <torch/extension.h>\n#include <ATen/cuda/Atomic.cuh>\n")


@pytest.mark.parametrize("header", ["#include <torch/extension.h>\n#include <torch/torch.h>\n", "#include <vector>\n"])
def test_nothing_is_missing(header: str, tmp_path: Path) -> None:
    assert examine(found(tmp_path, MODULE, a=header)).findings == ()


def test_without_a_place_it_is_left_to_people(tmp_path: Path) -> None:
    text = '#ifdef A\n#include "a.h"\n#endif\nPYBIND11_MODULE(x, m) {}\n'
    (one,) = examine(found(tmp_path, text, a="#include <torch/torch.h>\n")).findings
    assert one.by_hand
