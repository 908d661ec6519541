"""GPUs, their drivers, and what is compiled for them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from opwright.doctor import architectures, gpu
from opwright.doctor.cuda_facts import Toolkit
from opwright.doctor.gpu import Gpu, Gpus
from tests.doctor.findings import CUDA_TORCH, TORCH, only

TOOLKIT = Toolkit(
    "/cuda", "CUDA_HOME=/cuda", "/cuda/bin/nvcc", "13.0", gpus=("75", "80", "86", "90", "100"), newest_gcc=15
)
H100 = Gpu("NVIDIA H100", 9, 0, 80 << 30)


def test_a_driver_that_is_too_old_for_torch() -> None:
    found = only(gpu.examine(Gpus("12.4", "", (H100,)), CUDA_TORCH), "driver against PyTorch")
    assert (found.state, found.text) == ("wrong", "the driver speaks CUDA 12.4, but PyTorch was built with 13.0")


def test_a_driver_that_does_not_start() -> None:
    broken = Gpus("13.0", "the driver can't start: its kernel module has another version (803)")
    assert only(gpu.examine(broken, CUDA_TORCH), "driver").state == "wrong"
    assert only(gpu.examine(broken, TORCH), "driver").state == "note"


def test_no_gpu_is_no_failure() -> None:
    assert [finding.state for finding in gpu.examine(Gpus(), CUDA_TORCH)] == ["note"]
    devices = list(gpu.examine(Gpus("13.0", "", (H100,)), TORCH))
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
    found = list(gpu.examine(Gpus("13.0", "", (H100,)), CUDA_TORCH._replace(architectures=built_for)))
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
    monkeypatch.setattr("opwright.doctor.gpu._SECONDS", 2.0)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(driver))
    monkeypatch.setenv("FAKE_DRIVER", how)
    assert gpu.find_gpus() == expected


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
    (found,) = architectures.examine(TOOLKIT, [H100])
    assert (found.state, says in found.text, fix in found.fix) == ("wrong", True, True), found


@pytest.mark.parametrize("given", ["9.0", "8.0+PTX", "8.0 9.0a", "Hopper", "Ampere;Hopper", "native", ""])
def test_architecture_lists_that_work(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_CUDA_ARCH_LIST", given)
    (found,) = architectures.examine(TOOLKIT, [H100])
    assert found.state == "ok"


def test_an_architecture_list_without_gpu_or_nvcc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TORCH_CUDA_ARCH_LIST", raising=False)
    (found,) = architectures.examine(None, [])
    assert (found.state, "no GPU is here" in found.text) == ("note", True)
    monkeypatch.setenv("TORCH_CUDA_ARCH_LIST", "9.0")
    (found,) = architectures.examine(None, [])
    assert (found.state, "there is no nvcc" in found.text) == ("ok", True)
