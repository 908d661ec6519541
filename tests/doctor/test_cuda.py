"""CUDA toolkits, GPUs and architectures, of which no machine has all: they are made here."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from opwright.doctor import cuda
from opwright.doctor.cuda import Gpu, Gpus, Toolkit, find_toolkit
from tests.broken import script
from tests.doctor.findings import CUDA_TORCH, TORCH, Look, only, the


@pytest.mark.slow
def test_cuda_home_points_nowhere(look: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_HOME", "/nowhere/cuda")
    found = the(look("cuda"), "toolkit")
    assert (found.state, found.text) == ("wrong", "CUDA_HOME=/nowhere/cuda: there is no folder /nowhere/cuda")
    assert found.fix.startswith("unset CUDA_HOME, or set it to the folder that has bin/nvcc and include")


def test_cuda_home_without_a_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CUDA_PATH", str(tmp_path))
    found = only(cuda.examine_toolkit(find_toolkit(), TORCH), "toolkit")
    assert (found.state, found.text) == ("wrong", f"CUDA_PATH={tmp_path}: there is no compiler {tmp_path}/bin/nvcc")


_NVCC = """case "$1" in
  --version) echo 'Cuda compilation tools, release 12.4, V12.4.99';;
  --list-gpu-arch) echo compute_80; echo compute_90;;
  --dryrun) echo '#$ TOP='{top} >&2;;
esac"""


def toolkit_in(folder: Path, *, header: bool = True) -> Path:
    script(folder / "bin" / "nvcc", _NVCC.replace("{top}", str(folder)))
    if header:
        (folder / "include" / "crt").mkdir(parents=True)
        (folder / "include" / "cuda_runtime.h").touch()
        (folder / "include" / "crt" / "host_config.h").write_text(
            "#if __GNUC__ > 9\n#endif\n#if (__clang_major__ >= 12) || (__clang_major__ < 3)\n#endif\n"
        )
    return folder


def test_nvcc_on_the_path_is_a_script(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """PyTorch takes the folder above for the toolkit, and finds no header there."""
    real = toolkit_in(tmp_path / "cuda-12.4")
    script(tmp_path / "bin" / "nvcc", f'exec {real}/bin/nvcc "$@"')
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    found = only(cuda.examine_toolkit(find_toolkit(), CUDA_TORCH), "toolkit")
    assert found.state == "wrong"
    assert f"there is no header {tmp_path}/include/cuda_runtime.h (nvcc itself lies in {real})" in found.text
    assert found.fix == f"export CUDA_HOME={real}"
    assert only(cuda.examine_toolkit(find_toolkit(), TORCH), "toolkit").state == "note"  # nothing on the CPU needs it


def test_a_toolkit_that_does_not_fit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CUDA_HOME", str(toolkit_in(tmp_path)))
    toolkit = find_toolkit()
    assert toolkit
    assert (toolkit.version, toolkit.gpus, toolkit.newest_gcc, toolkit.newest_clang) == ("12.4", ("80", "90"), 9, 11)
    found = list(cuda.examine_toolkit(toolkit, CUDA_TORCH))
    mismatch, host = only(found, "against PyTorch"), only(found, "host compiler")
    assert mismatch.state == host.state == "wrong"
    assert "the toolkit is CUDA 12.4, but PyTorch was built with 13.0" in mismatch.text
    assert "is too new for CUDA 12.4" in host.text
    assert only(cuda.examine_toolkit(toolkit, TORCH), "host compiler").state == "note"


def test_an_nvcc_that_does_not_work(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script(tmp_path / "bin" / "nvcc", "echo 'nvcc fatal: no license'; exit 1")
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    found = only(cuda.examine_toolkit(find_toolkit(), TORCH), "toolkit")
    assert f"{tmp_path}/bin/nvcc can't be run: nvcc fatal: no license (status 1)" in found.text


def test_no_toolkit_is_no_failure() -> None:
    (found,) = [f for f in cuda.examine_toolkit(None, CUDA_TORCH) if f.topic == "toolkit"]
    assert (found.state, "install the toolkit 13.0" in found.fix) == ("note", True)


def test_two_toolkits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    monkeypatch.setenv("CUDA_PATH", "/usr")
    assert only(cuda.examine_toolkit(find_toolkit(), TORCH), "variables").state == "wrong"


TOOLKIT = Toolkit(
    "/cuda", "CUDA_HOME=/cuda", "/cuda/bin/nvcc", "13.0", gpus=("75", "80", "86", "90", "100"), newest_gcc=15
)
H100 = Gpu("NVIDIA H100", 9, 0, 80 << 30)


def test_a_driver_that_is_too_old_for_torch() -> None:
    found = only(cuda.examine_gpus(Gpus("12.4", "", (H100,)), CUDA_TORCH), "driver against PyTorch")
    assert (found.state, found.text) == ("wrong", "the driver speaks CUDA 12.4, but PyTorch was built with 13.0")


def test_a_driver_that_does_not_start() -> None:
    broken = Gpus("13.0", "the driver can't start: its kernel module has another version (803)")
    assert only(cuda.examine_gpus(broken, CUDA_TORCH), "driver").state == "wrong"
    assert only(cuda.examine_gpus(broken, TORCH), "driver").state == "note"


def test_no_gpu_is_no_failure() -> None:
    assert [finding.state for finding in cuda.examine_gpus(Gpus(), CUDA_TORCH)] == ["note"]
    devices = list(cuda.examine_gpus(Gpus("13.0", "", (H100,)), TORCH))
    assert [finding.state for finding in devices] == ["ok", "ok", "note"]
    assert "NVIDIA H100, compute capability 9.0, 80 GiB" in devices[1].text


@pytest.mark.parametrize(
    ("built_for", "works"),
    [
        (("sm_80", "sm_90"), True),
        (("sm_80", "sm_86"), False),
        (("sm_80", "compute_80"), True),
        (("sm_100", "compute_100"), False),
        (("sm_90a",), True),
        ((), True),
    ],
)
def test_a_gpu_that_torch_has_no_code_for(built_for: tuple[str, ...], works: bool) -> None:
    found = list(cuda.examine_gpus(Gpus("13.0", "", (H100,)), CUDA_TORCH._replace(architectures=built_for)))
    assert [finding.topic for finding in found if finding.state == "wrong"] == ["device"] * (not works)
    assert works or found[-1].text == f"PyTorch has no code for NVIDIA H100 (9.0), only for {', '.join(built_for)}"


_DRIVER = """
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int cuInit(unsigned flags) {
  const char *how = getenv("FAKE_DRIVER");
  if (!strcmp(how, "hangs")) sleep(60);
  if (!strcmp(how, "crashes")) abort();
  return atoi(how);
}
int cuDriverGetVersion(int *version) { *version = 12080; return 0; }
int cuDeviceGetCount(int *count) { *count = 2; return 0; }
int cuDeviceGet(int *device, int ordinal) { *device = 10 + ordinal; return 0; }
int cuDeviceGetName(char *name, int size, int device) { strncpy(name, device == 10 ? "one" : "two", size); return 0; }
int cuDeviceTotalMem_v2(size_t *bytes, int device) { *bytes = (size_t)(device - 9) << 30; return 0; }
int cuDeviceGetAttribute(int *value, int attribute, int device) {
  *value = attribute == 75 ? 8 : device - 10;
  return 0;
}
"""


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library with the driver's functions, which does what FAKE_DRIVER says."""
    folder = tmp_path_factory.mktemp("driver")
    (folder / "driver.c").write_text(_DRIVER)
    compiler = shutil.which("cc") or pytest.skip("there is no C compiler")
    words = [compiler, "-shared", "-fPIC", str(folder / "driver.c"), "-o", str(folder / "libcuda.so.1")]
    subprocess.run(words, check=True)
    return folder


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("0", Gpus("12.8", "", (Gpu("one", 8, 0, 1 << 30), Gpu("two", 8, 1, 2 << 30)))),
        ("803", Gpus("12.8", "the driver can't start: its kernel module has another version (803)")),
        ("hangs", Gpus("?", "the driver (libcuda.so.1) doesn't work: it didn't answer within 2 seconds")),
        ("crashes", Gpus("?", "the driver (libcuda.so.1) doesn't work: it said nothing (signal 6)")),
    ],
)
def test_what_drivers_say(how: str, expected: Gpus, driver: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("opwright.doctor.cuda._DRIVER_SECONDS", 2.0)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(driver))
    monkeypatch.setenv("FAKE_DRIVER", how)
    assert cuda.find_gpus() == expected


@pytest.mark.parametrize(
    ("given", "says", "fix"),
    [
        ("8.0,9.0", "'8.0,9.0' can't be read", 'versions with ";" between them'),
        ("sm_90", "'sm_90' can't be read", "8.0;8.6;9.0+PTX"),
        ("Hoper", "'Hoper' can't be read", "8.0;8.6;9.0+PTX"),
        (
            "6.1;8.0",
            "nvcc 13.0 doesn't compile for 6.1; it knows 7.5, 8.0, 8.6, 9.0, 10.0",
            'TORCH_CUDA_ARCH_LIST="8.0"',
        ),
        ("Pascal", "doesn't compile for 6.0, 6.1+PTX", "8.0;8.6;9.0+PTX"),
        ("8.0;8.6", "leaves out NVIDIA H100 (9.0): nothing would run there", '"8.0;8.6;9.0"'),
    ],
)
def test_architecture_lists_that_do_not_work(given: str, says: str, fix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_CUDA_ARCH_LIST", given)
    (found,) = cuda.examine_architectures(TOOLKIT, [H100])
    assert (found.state, says in found.text, fix in found.fix) == ("wrong", True, True), found


@pytest.mark.parametrize("given", ["9.0", "8.0+PTX", "8.0 9.0a", "Hopper", "Ampere;Hopper", "native", ""])
def test_architecture_lists_that_work(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_CUDA_ARCH_LIST", given)
    (found,) = cuda.examine_architectures(TOOLKIT, [H100])
    assert found.state == "ok"


def test_an_architecture_list_without_gpu_or_nvcc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TORCH_CUDA_ARCH_LIST", raising=False)
    (found,) = cuda.examine_architectures(None, [])
    assert (found.state, "no GPU is here" in found.text) == ("note", True)
    monkeypatch.setenv("TORCH_CUDA_ARCH_LIST", "9.0")
    (found,) = cuda.examine_architectures(None, [])
    assert (found.state, "there is no nvcc" in found.text) == ("ok", True)
