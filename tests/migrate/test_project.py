from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from expecttest import assert_expected_inline

from opwright.cli.migrate import command
from opwright.errors import SourceError
from opwright.migrate import examine, source_files, write_file

OLD = """#include <torch/torch.h>

int64_t *f(at::Tensor x) {
  AT_CHECK(x.type().is_cuda());
  return x.data<int64_t>();
}
"""
PYTHON = "loss = f(Variable(x))\nprint(loss.data[0])\n"


def migrate(*words: object) -> Result:
    return CliRunner().invoke(command, [str(word) for word in words])


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "op.cpp").write_text(OLD)
    (folder / "train.py").write_text(PYTHON)
    (folder / "README.md").write_text("AT_CHECK\n")
    for passed_over in ("build", ".git", "op.egg-info"):
        (folder / passed_over).mkdir()
        (folder / passed_over / "op.cpp").write_text(OLD)
    monkeypatch.chdir(tmp_path)
    return Path("project")


def test_a_report_says_where_what_and_what_to_write(project: Path) -> None:
    done = migrate(project)
    assert done.exit_code == 1
    assert_expected_inline(
        done.output,
        """\
project/train.py:1: Variable(...): deprecated; today the tensor itself [by hand]
project/train.py:2: .data[0]: removed; today .item() [--write does it]
project/src/op.cpp:4: .type().is_cuda(): deprecated; today .is_cuda() [--write does it]
project/src/op.cpp:4: AT_CHECK: removed; today TORCH_CHECK [--write does it]
project/src/op.cpp:5: .data<T>(): deprecated; today .data_ptr<T>() [--write does it]
5 uses in 2 files: 4 that --write rewrites, 1 to be done by hand
""",
    )
    assert (project / "src/op.cpp").read_text() == OLD


def test_a_diff_is_a_patch(project: Path) -> None:
    done = migrate("--diff", project / "src")
    assert done.exit_code == 1
    assert_expected_inline(
        done.output.split("\n", 3)[3],
        """\
--- a/project/src/op.cpp
+++ b/project/src/op.cpp
@@ -1,6 +1,6 @@
 #include <torch/torch.h>
\x20
 int64_t *f(at::Tensor x) {
-  AT_CHECK(x.type().is_cuda());
-  return x.data<int64_t>();
+  TORCH_CHECK(x.is_cuda());
+  return x.data_ptr<int64_t>();
 }
3 uses in 1 file: 3 that --write rewrites, 0 to be done by hand
""",
    )


def test_a_diff_of_a_last_line_without_an_end(tmp_path: Path) -> None:
    (tmp_path / "op.cpp").write_text("AT_WARN(1);")
    lines = migrate("--diff", tmp_path).output.splitlines()
    assert lines[4:8] == [
        "-AT_WARN(1);",
        "\\ No newline at end of file",
        "+TORCH_WARN(1);",
        "\\ No newline at end of file",
    ]


def test_a_diff_holds_bytes_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "op.cpp").write_bytes(b'AT_WARN("\xe4"); // \xc3\xa4\n')
    assert b'+TORCH_WARN("\xe4"); // \xc3\xa4\n' in migrate("--diff", tmp_path).stdout_bytes


def test_writing_leaves_what_is_by_hand_and_says_so(project: Path) -> None:
    done = migrate("--write", project)
    assert done.exit_code == 1
    assert "[rewritten]" in done.output
    assert (project / "src/op.cpp").read_text() == OLD.replace("AT_CHECK(x.type()", "TORCH_CHECK(x").replace(
        "data<", "data_ptr<"
    )
    assert (project / "train.py").read_text() == "loss = f(Variable(x))\nprint(loss.item())\n"
    assert (project / "build/op.cpp").read_text() == OLD
    assert migrate("--write", project / "src").output == "nothing found in 1 file\n"


def test_the_status_is_0_when_everything_is_rewritten(project: Path) -> None:
    assert migrate(project / "src").exit_code == 1
    assert migrate("--write", project / "src").exit_code == 0
    assert migrate(project / "src").exit_code == 0


def test_json(project: Path) -> None:
    done = migrate("--json", "--write", project / "train.py")
    assert done.exit_code == 1
    assert json.loads(done.output) == {
        "files": [
            {
                "path": "project/train.py",
                "rewritten": True,
                "findings": [
                    {
                        "line": 1,
                        "name": "Variable(...)",
                        "status": "deprecated",
                        "today": "the tensor itself",
                        "by_hand": True,
                        "note": "",
                    },
                    {
                        "line": 2,
                        "name": ".data[0]",
                        "status": "removed",
                        "today": ".item()",
                        "by_hand": False,
                        "note": "",
                    },
                ],
            }
        ],
        "errors": [],
    }


def test_permissions_and_links_stay(project: Path) -> None:
    target = Path("outside.cpp")
    target.write_text(OLD)
    target.chmod(0o750)
    (project / "linked.cpp").symlink_to(target.resolve())
    (project / "again.cpp").symlink_to("src/op.cpp")
    assert [path.name for path in source_files(project)] == ["linked.cpp", "train.py", "op.cpp"]
    assert migrate("--write", project / "linked.cpp").exit_code == 0
    assert (project / "linked.cpp").is_symlink()
    assert "TORCH_CHECK" in target.read_text()
    assert target.stat().st_mode & 0o777 == 0o750
    assert sorted(os.listdir()) == ["outside.cpp", "project"]


def test_a_file_named_twice_is_read_once(project: Path) -> None:
    assert migrate(project, project / "src/op.cpp").output.count("AT_CHECK") == 1


def test_what_cannot_be_read_is_named_and_the_rest_is_done(project: Path) -> None:
    (project / "dangling.cpp").write_bytes(b"\xff\xfeA\0T\0")
    done = migrate("--write", project, "absent.cpp", project / "README.md")
    assert done.exit_code == 2
    assert "project/dangling.cpp: it holds zero bytes; expected text in UTF-8" in done.output
    assert "absent.cpp: can't be read: No such file or directory" in done.output
    assert "project/README.md: what is in it isn't known; expected a name that ends with one of" in done.output
    assert "TORCH_CHECK" in (project / "src/op.cpp").read_text()


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "op.cpp")
    assert list(source_files(tmp_path)) == []
    with pytest.raises(SourceError, match="it is no file"):
        examine(tmp_path / "op.cpp")


def test_a_file_that_changed_meanwhile_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "op.cpp"
    path.write_text(OLD)
    seen = examine(path)
    path.write_text("int x;\n")
    with pytest.raises(OSError, match="changed by somebody else"):
        write_file(path, seen.before, seen.after)
    assert path.read_text() == "int x;\n"


def test_a_write_that_fails_leaves_the_file_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "op.cpp"
    path.write_text(OLD)

    def fails(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fails)
    done = migrate("--write", path)
    assert done.exit_code == 2
    assert f"{path}: can't be written: No space left on device" in done.output
    assert [entry.name for entry in tmp_path.iterdir()] == ["op.cpp"]
    assert path.read_text() == OLD


KERNEL = '#include <THC/THC.h>\n#include "shared.h"\nvoid launch() { THCudaCheck(cudaGetLastError()); }\n'
TENSORS = "#include <THC/THC.h>\nint f(THCudaTensor *x) { return THCudaTensor_nDimension(0, x); }\n"


def laid_out(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.mark.parametrize(
    "mark",
    [
        {"src/op.c": TENSORS},
        {"build.py": "from torch.utils.ffi import create_extension\n"},
        {"setup.py": "setup(cffi_modules=['build.py:ffi'])\n"},
    ],
    ids=lambda mark: next(iter(mark)),
)
def test_the_files_of_a_package_belong_together(mark: dict[str, str], tmp_path: Path) -> None:
    """Nothing in the kernel says that it is of the first generation; what surrounds it does."""
    laid_out(tmp_path, {"src/cuda/kernel.cu": KERNEL, **mark})
    done = migrate("--write", tmp_path)
    assert (tmp_path / "src/cuda/kernel.cu").read_text() == KERNEL
    assert "THCudaCheck: removed; today C10_CUDA_CHECK [by hand] (part of an extension with TH's tensors" in done.output


def test_a_newer_extension_beside_it_is_rewritten(tmp_path: Path) -> None:
    second = "#include <torch/extension.h>\n" + KERNEL
    header = "#include <cuda_runtime.h>\n#define DONE() THCudaCheck(cudaGetLastError())\n"
    laid_out(tmp_path, {"old/op.c": TENSORS, "old/new/op.cu": second, "old/new/shared.h": header, "op.cu": KERNEL})
    migrate("--write", tmp_path)
    for name in ("old/new/op.cu", "old/new/shared.h", "op.cu"):
        assert "C10_CUDA_CHECK" in (tmp_path / name).read_text(), name


def test_one_file_is_judged_by_its_neighbours(tmp_path: Path) -> None:
    laid_out(tmp_path, {"op.c": TENSORS, "kernel.cu": KERNEL})
    migrate("--write", tmp_path / "kernel.cu")
    assert (tmp_path / "kernel.cu").read_text() == KERNEL


def test_an_include_in_a_comment_makes_no_newer_extension(tmp_path: Path) -> None:
    kernel = "/* one day:\n#include <torch/extension.h>\n*/\n" + KERNEL
    laid_out(tmp_path, {"op.c": TENSORS, "kernel.cu": kernel})
    migrate("--write", tmp_path)
    assert (tmp_path / "kernel.cu").read_text() == kernel
