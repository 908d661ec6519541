"""Checks the CUDA toolkit, the GPUs and the architectures that extensions are compiled for.

Operators for the CPU need none of these. Therefore a finding is wrong only if a setting is wrong, or if this build of
PyTorch needs something that is missing. The GPU's driver may hang, so it is loaded in a child process.
"""

from __future__ import annotations

import glob
import json
import os
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from opwright.doctor.findings import Finding, State, note, ok, wrong
from opwright.doctor.pytorch import TorchFacts
from opwright.doctor.subprocesses import ask, ask_python
from opwright.errors import ToolchainError
from opwright.toolchain.compilers.compiler import find_compiler
from opwright.toolchain.compilers.cuda_architectures import NAMED, VARIABLE
from opwright.toolchain.compilers.nvcc import newest_compilers

_SECONDS = 8.0
_DRIVER_SECONDS = 10.0
_HOME_VARIABLES = ("CUDA_HOME", "CUDA_PATH")
_USUAL = "/usr/local/cuda"


class Toolkit(NamedTuple):
    """A CUDA toolkit, or a folder that should be one.

    Attributes:
        home: its folder.
        origin: how the folder was found: a variable, the ``PATH``, the usual folder.
        nvcc: the path of its compiler, if it exists.
        version: such as ``13.0``; empty if nvcc doesn't report it.
        problem: why it can't be used; else empty.
        real_home: the folder that nvcc itself reports: the program on the PATH may be a script or a link.
        gpus: architectures that nvcc compiles for, such as ``75`` or ``90a``.
        newest_gcc, newest_clang: the newest versions that its headers accept; 0: unknown.
    """

    home: str
    origin: str
    nvcc: str = ""
    version: str = ""
    problem: str = ""
    real_home: str = ""
    gpus: tuple[str, ...] = ()
    newest_gcc: int = 0
    newest_clang: int = 0


def find_toolkit() -> Toolkit | None:
    """Find the toolkit in the same way as PyTorch's builder: by a variable, nvcc on the PATH, or the usual folder."""
    for variable in _HOME_VARIABLES:
        if home := os.environ.get(variable):
            return _describe(home, f"{variable}={home}")
    if path := shutil.which("nvcc"):
        return _describe(os.path.dirname(os.path.dirname(path)), "nvcc on the PATH", path)
    return _describe(_USUAL, "the usual place") if os.path.exists(_USUAL) else None


def _describe(home: str, origin: str, nvcc: str = "") -> Toolkit:
    if not os.path.isdir(home):
        return Toolkit(home, origin, problem=f"there is no folder {home}")
    nvcc = nvcc or os.path.join(home, "bin", "nvcc")
    if not os.access(nvcc, os.X_OK):
        return Toolkit(home, origin, problem=f"there is no compiler {nvcc}")
    answer = ask([nvcc, "--version"], seconds=_SECONDS)
    version = re.search(r"release (\d+\.\d+)", answer.text)
    if answer.status != 0 or not version:
        return Toolkit(home, origin, nvcc, problem=f"{nvcc} can't be run: {answer.why}")
    listing = ask([nvcc, "--list-gpu-arch"], seconds=_SECONDS)
    gpus = tuple(re.findall(r"compute_(\d+[a-z]?)", listing.text)) if listing.status == 0 else ()
    top = re.search(r"^#\$ TOP=(.+)$", ask([nvcc, "--dryrun", "x.cu"], seconds=_SECONDS).text, re.MULTILINE)
    real = os.path.realpath(top[1]) if top and os.path.exists(_header(os.path.realpath(top[1]))) else ""
    toolkit = Toolkit(home, origin, nvcc, version[1], "", real, gpus)
    if not os.path.exists(_header(home)):
        elsewhere = f" (nvcc itself lies in {real})" if real and real != os.path.realpath(home) else ""
        return toolkit._replace(problem=f"there is no header {_header(home)}{elsewhere}")
    newest = newest_compilers(home)
    return toolkit._replace(newest_gcc=newest.get("gcc", 0), newest_clang=newest.get("clang", 0))


def _header(home: str) -> str:
    return os.path.join(home, "include", "cuda_runtime.h")


def examine_toolkit(toolkit: Toolkit | None, torch: TorchFacts) -> Iterator[Finding]:
    """Report the toolkit's folder, and check whether it is complete and fits PyTorch and the compiler."""
    if toolkit is None:
        text, version = "none: CUDA sources can't be compiled here; nothing on the CPU needs it", torch.cuda or "13"
        fix = f"for CUDA, install the toolkit {version} (developer.nvidia.com/cuda-downloads) and set CUDA_HOME"
        yield note("toolkit", text, fix)
    else:
        yield from _examine(toolkit, torch)
    wheels = (path for place in sys.path for path in sorted(glob.glob(os.path.join(place or ".", "nvidia/*/bin/nvcc"))))
    for path in dict.fromkeys(wheels):
        home = os.path.dirname(os.path.dirname(path))
        yield note("pip wheel", f"nvcc at {path}", f"export CUDA_HOME={home} to use it")


def _examine(toolkit: Toolkit, torch: TorchFacts) -> Iterator[Finding]:
    variables = {name: os.environ[name] for name in _HOME_VARIABLES if os.environ.get(name)}
    if len({os.path.realpath(home) for home in variables.values()}) > 1:
        homes = " and ".join(f"{name}={home}" for name, home in variables.items())
        text = f"{homes} are two toolkits; the first is taken"
        yield wrong("variables", text, "unset CUDA_PATH, or set both to the same folder")
    if toolkit.problem:
        if toolkit.real_home:
            fix = f"export CUDA_HOME={toolkit.real_home}"
        elif variables:
            name = toolkit.origin.partition("=")[0]
            fix = f"unset {name}, or set it to the folder that has bin/nvcc and include"
        else:
            fix = "export CUDA_HOME=... to the folder that has bin/nvcc and include"
        state: State = "wrong" if torch.cuda or variables else "note"
        yield Finding("toolkit", state, f"{toolkit.origin}: {toolkit.problem}", fix)
        return
    yield ok("toolkit", f"CUDA {toolkit.version} in {toolkit.home} ({toolkit.origin})")
    yield _against_torch(toolkit.version, torch.cuda)
    yield from _host_compiler(toolkit, "wrong" if torch.cuda else "note")


def _against_torch(version: str, torch: str | None) -> Finding:
    topic = "against PyTorch"
    if not torch:
        return note(topic, "this PyTorch has no CUDA: the toolkit compiles, but nothing runs on a GPU")
    if version == torch:
        return ok(topic, f"both are CUDA {version}")
    if _major(version) == _major(torch):
        return note(topic, f"CUDA {version}, PyTorch has {torch}: minor versions fit each other")
    return wrong(
        topic,
        f"the toolkit is CUDA {version}, but PyTorch was built with {torch}: extensions that mix them are refused",
        f"install the toolkit {torch} and set CUDA_HOME to it, or a PyTorch for CUDA {version}",
    )


def _host_compiler(toolkit: Toolkit, state: State) -> Iterator[Finding]:
    """Compare the version of the C++ compiler with the newest that the toolkit's headers accept."""
    try:
        compiler = find_compiler("c++")
    except ToolchainError:  # reported in the section "compilers"
        return
    newest = toolkit.newest_gcc if compiler.kind == "gcc" else toolkit.newest_clang
    limit = f"takes {compiler.kind} up to {newest}"
    if newest and compiler.version[0] > newest:
        other = re.sub(r"[\d.-]*$", "", os.path.basename(compiler.path))
        text = f"{compiler} at {compiler.path} is too new for CUDA {toolkit.version}, which {limit}"
        fix = f"install {compiler.kind} {newest} and set CXX={other}-{newest} (nvcc: -ccbin {other}-{newest})"
        yield Finding("host compiler", state, text, fix)
    elif newest:
        yield ok("host compiler", f"{compiler} (CUDA {toolkit.version} {limit})")


class Gpu(NamedTuple):
    """A GPU: its name, its compute capability, its memory in bytes."""

    name: str
    major: int
    minor: int
    memory: int


class Gpus(NamedTuple):
    """The driver's CUDA version (empty without a driver), the reason why it fails, and the GPUs."""

    driver: str = ""
    problem: str = ""
    devices: tuple[Gpu, ...] = ()


_INIT_ERRORS = {100: "it finds no device", 803: "its kernel module has another version", 804: "it doesn't fit this GPU"}
# 75 and 76 are CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR.
_DRIVER_CODE = """
import ctypes, json
def ask():
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None
    status, version, count = cuda.cuInit(0), ctypes.c_int(), ctypes.c_int()
    cuda.cuDriverGetVersion(ctypes.byref(version))
    devices = []
    if status == 0 and cuda.cuDeviceGetCount(ctypes.byref(count)) == 0:
        for number in range(count.value):
            name, device = ctypes.create_string_buffer(256), ctypes.c_int()
            memory, major, minor = ctypes.c_size_t(), ctypes.c_int(), ctypes.c_int()
            cuda.cuDeviceGet(ctypes.byref(device), number)
            cuda.cuDeviceGetName(name, 255, device)
            cuda.cuDeviceTotalMem_v2(ctypes.byref(memory), device)
            cuda.cuDeviceGetAttribute(ctypes.byref(major), 75, device)
            cuda.cuDeviceGetAttribute(ctypes.byref(minor), 76, device)
            devices.append([name.value.decode("utf-8", "replace"), major.value, minor.value, memory.value])
    return version.value, status, devices
print(json.dumps(ask()))
"""


def find_gpus() -> Gpus:
    """Query the driver in a child process."""
    answer = ask_python(_DRIVER_CODE, seconds=_DRIVER_SECONDS)
    try:
        facts = json.loads(answer.text.splitlines()[-1]) if answer.status == 0 else {}
    except (ValueError, IndexError):
        facts = {}
    if facts is None:
        return Gpus()
    if not isinstance(facts, list):
        return Gpus("?", f"the driver (libcuda.so.1) doesn't work: {answer.why}")
    version, status, devices = facts
    driver = f"{version // 1000}.{version % 1000 // 10}"
    if status:
        return Gpus(driver, f"the driver can't start: {_INIT_ERRORS.get(status, 'CUDA error')} ({status})")
    return Gpus(driver, "", tuple(Gpu(*device) for device in devices))


def examine_gpus(gpus: Gpus, torch: TorchFacts) -> Iterator[Finding]:
    """Check whether there is a GPU, and whether this PyTorch can use it."""
    if not gpus.driver:
        yield note("driver", "none (no libcuda.so.1): there is no GPU of NVIDIA's here; nothing on the CPU needs one")
        return
    if gpus.problem:
        state: State = "wrong" if torch.cuda and "no device" not in gpus.problem else "note"
        yield Finding("driver", state, gpus.problem, "update the driver, and restart; in a container, pass the GPU on")
        return
    yield ok("driver", f"for CUDA {gpus.driver}")
    if torch.cuda and _major(torch.cuda) > _major(gpus.driver):
        text = f"the driver speaks CUDA {gpus.driver}, but PyTorch was built with {torch.cuda}"
        yield wrong("driver against PyTorch", text, f"update the driver, or install a PyTorch for CUDA {gpus.driver}")
    for gpu in gpus.devices:
        yield from _device(gpu, torch)
    if not gpus.devices:
        yield note("devices", "none is visible", "see CUDA_VISIBLE_DEVICES")


def _device(gpu: Gpu, torch: TorchFacts) -> Iterator[Finding]:
    capability = f"{gpu.major}.{gpu.minor}"
    yield ok("device", f"{gpu.name}, compute capability {capability}, {gpu.memory / (1 << 30):.0f} GiB")
    if torch.missing or torch.problem or torch.hip:
        return
    if not torch.cuda:
        yield note("device", "this PyTorch is a build for the CPU", "choose one for CUDA on pytorch.org to use the GPU")
    elif torch.architectures and not any(_torch_serves(name, gpu) for name in torch.architectures):
        text = f"PyTorch has no code for {gpu.name} ({capability}), only for {', '.join(torch.architectures)}"
        yield wrong("device", text, "install a PyTorch that has, see pytorch.org; or hide it: CUDA_VISIBLE_DEVICES=")


def _torch_serves(name: str, gpu: Gpu) -> bool:
    """Return whether code such as ``sm_86`` runs on the GPU, or PTX such as ``compute_86`` can be translated for it."""
    kind, _, digits = name.partition("_")
    number = int(re.sub(r"\D", "", digits) or 0)
    return number <= 10 * gpu.major + gpu.minor and (kind == "compute" or number // 10 == gpu.major)


def _major(version: str) -> int:
    return int(version.partition(".")[0]) if version[:1].isdigit() else 0


_ARCHITECTURE = re.compile(r"(\d{1,2})\.(\d)([af]?)(\+PTX)?")


def examine_architectures(toolkit: Toolkit | None, gpus: Sequence[Gpu]) -> Iterator[Finding]:
    """Check whether ``TORCH_CUDA_ARCH_LIST`` can be parsed, nvcc supports its entries, and they cover the GPUs."""
    value, known = os.environ.get(VARIABLE, ""), toolkit.gpus if toolkit else ()
    usual = [entry for entry in ("8.0", "8.6", "9.0") if not known or entry.replace(".", "") in map(_plain, known)]
    suggestion = f'{VARIABLE}="{";".join(usual)}+PTX"'
    capabilities = list(dict.fromkeys(f"{gpu.major}.{gpu.minor}" for gpu in gpus))
    if value.strip() in ("", "native"):
        if capabilities:
            yield ok(VARIABLE, f"not set: the GPUs that are here ({', '.join(capabilities)})")
        else:
            text = "not set, and no GPU is here: then it is the oldest GPU that nvcc knows, and PTX for newer ones"
            yield note(VARIABLE, text, f"for a CUDA build, such as {suggestion}")
        return
    entries = [part for item in re.split(r"[; ]", value) if item for part in NAMED.get(item, item).split(";")]
    matches = {entry: _ARCHITECTURE.fullmatch(entry) for entry in entries}
    unreadable = [entry for entry, match in matches.items() if not match]
    parsed = {entry: match for entry, match in matches.items() if match}
    unknown = [e for e, match in parsed.items() if known and match[1] + match[2] not in map(_plain, known)]
    unserved = [gpu for gpu in gpus if not any(_entry_serves(match, gpu) for match in parsed.values())]
    if unreadable:
        text = f"{VARIABLE}={value!r}: {', '.join(map(repr, unreadable))} can't be read"
        yield wrong(VARIABLE, text, f'versions with ";" between them, such as {suggestion}')
    elif unknown and toolkit:
        listed = ", ".join(f"{_plain(gpu)[:-1]}.{_plain(gpu)[-1]}{gpu[len(_plain(gpu)) :]}" for gpu in known)
        left = ";".join(entry for entry in entries if entry not in unknown)
        text = (
            f"{VARIABLE}={value!r}: nvcc {toolkit.version} doesn't compile for {', '.join(unknown)}; it knows {listed}"
        )
        yield wrong(VARIABLE, text, "leave that out: " + (f'{VARIABLE}="{left}"' if left else suggestion))
    elif unserved:
        names = ", ".join(f"{gpu.name} ({gpu.major}.{gpu.minor})" for gpu in unserved)
        more = ";".join(dict.fromkeys([*entries, *(f"{gpu.major}.{gpu.minor}" for gpu in unserved)]))
        text = f"{VARIABLE}={value!r} leaves out {names}: nothing would run there"
        yield wrong(VARIABLE, text, f'{VARIABLE}="{more}"')
    else:
        untested = "" if known else " (there is no nvcc that could say whether it knows them)"
        yield ok(VARIABLE, f"{value}: {', '.join(entries)}{untested}")


def _entry_serves(entry: re.Match[str], gpu: Gpu) -> bool:
    """Return whether an entry's code runs on a GPU: the same generation and not newer, or PTX of any older one."""
    major, minor = int(entry[1]), int(entry[2])
    if entry[3] == "a":
        return (major, minor) == (gpu.major, gpu.minor)
    if major == gpu.major and minor <= gpu.minor:
        return True
    return bool(entry[4]) and (major, minor) <= (gpu.major, gpu.minor)


def _plain(gpu: str) -> str:
    return gpu.rstrip("af")
