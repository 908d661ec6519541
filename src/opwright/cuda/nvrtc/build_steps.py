"""Build steps for the toolchain: the host half with the C++ compiler, the device half with NVRTC for each target.

NVRTC's output is embedded in the library as bytes, with the lowered names of its kernels.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from string import Template

from opwright.cuda.nvrtc.device_half import device_half, kernel_names
from opwright.cuda.nvrtc.discovery import Nvrtc, Target
from opwright.cuda.nvrtc.host_half import host_half
from opwright.cuda.nvrtc.kernel_instances import Instance, launched_instances
from opwright.cuda.nvrtc.refusals import WAY_OUT
from opwright.sources.cpp.tokens import identifiers
from opwright.toolchain import header_dir
from opwright.toolchain.binary.elf import symbols
from opwright.toolchain.build.compilation import Compilation
from opwright.toolchain.build.processes import in_parallel
from opwright.toolchain.cache.manifest import extend_depfile

_IMAGES = Template("""\
#include <opwright/nvrtc/images.h>
$data
namespace opwright {
namespace nvrtc {
$names
const Image images[] = {
$rows
};
const size_t image_count = $count;
}  // namespace nvrtc
}  // namespace opwright
""")
_UNCOVERED = Template("""\
extern "C" __attribute__((weak, visibility("hidden"))) int $name() {
  opwright::detail::refuse("$what needs nvcc: it is of CUDA's runtime library, which the NVRTC back end doesn't link",
    "\\n  likely fix: $way_out");
}
""")
"""A function that raises `opwright.KernelError` in whoever calls it; the source's other functions work."""
_LINKED = re.compile(r"-lcuda(?:rt(?:_static)?)?$|libcuda(?:rt\w*)?\.(?:so|a)")
_OF_RUNTIME = re.compile(r"cu(?:da)?[A-Z]\w*")
_VERSION = re.compile(r"_v\d+|_pt[ds]s|_ptsz")
"""What CUDA's headers add to the name that is written."""
_DATA = Template("""\
asm(".pushsection .rodata\\n.balign 64\\nopwright_image_$index:\\n.incbin $path\\n.byte 0\\n.popsection\\n");
extern const unsigned char opwright_image_$index[] __attribute__((visibility("hidden")));
""")


def images_text(work: Path, targets: Sequence[Target], launched: Sequence[Instance]) -> str:
    """Return the C++ code of the table of images."""
    data, names, rows = [], [], []
    for index, target in enumerate(targets):
        lowered = json.loads((work / f"{target.architecture}.json").read_text(encoding="utf-8"))
        path = json.dumps(
            json.dumps(str(work / f"{target.architecture}.image"), ensure_ascii=False), ensure_ascii=False
        )
        data.append(_DATA.substitute(index=index, path=path[1:-1]))
        names_of_kernels = ", ".join(f'{{"{instance.key}", "{lowered[instance.expression]}"}}' for instance in launched)
        names.append(f"const Name names_{index}[] = {{{names_of_kernels}}};")
        flags = ", ".join(str(bool(flag)).lower() for flag in (target.is_ptx, target.exact))
        what = f'"{target.architecture}", {target.number}, {flags}'
        rows.append(f"  {{{what}, opwright_image_{index}, names_{index}, {len(launched)}}},")
    return _IMAGES.substitute(
        data="".join(data), names="\n".join(names), rows="\n".join(rows) or "  {}", count=len(targets)
    )


def uncovered_calls(host_object: Path, calls: Path) -> list[str]:
    """Return the functions of CUDA's runtime library and driver that a host half calls and `calls` doesn't define."""
    covered = symbols(calls)
    wanted = symbols(host_object).undefined - covered.defined - covered.private
    return sorted(name for name in wanted if _OF_RUNTIME.fullmatch(name))


def _refusal(name: str, written: set[str]) -> str:
    """Return the definition of an uncovered function; `written` are the words of the author's code."""
    shown = _VERSION.sub("", name)
    what = shown if shown in written else f"{shown}, which a function of cuda_runtime.h calls,"
    return _UNCOVERED.substitute(name=name, what=what, way_out=WAY_OUT.replace('"', '\\"'))


_WORKER = Path(__file__).with_name("worker.py")


@dataclass(frozen=True)
class HostHalf:
    """A `Rewrite` that reduces preprocessed code to the host half.

    Attributes:
        variables: receives the names of variables that exist only on the device.
    """

    variables: set[str] = field(default_factory=set, compare=False)

    @property
    def identity(self) -> str:
        """A constant: the rewriting code changes only with Opwright's version, which is in the key."""
        return "nvrtc-host"

    def __call__(self, text: str, again: Callable[[Sequence[str]], str]) -> str:  # noqa: ARG002
        """Return the host half.

        Raises:
            UnsupportedError: the code can't be split.
            SourceError: a launch can't be parsed.
        """
        half, variables = host_half(text)
        self.variables.update(variables)
        return half


@dataclass(frozen=True)
class DeviceHalf:
    """An `Addition` that compiles the device half for each target and makes an object file with all images.

    Attributes:
        nvrtc: the compiler.
        targets: the architectures to compile for.
        preprocess: the preprocessor's flags, except the target's macro.
        options: further options for NVRTC.
        calls: the object file with the functions of CUDA's runtime library that NVRTC's host half has.
    """

    nvrtc: Nvrtc
    targets: tuple[Target, ...]
    preprocess: tuple[str, ...]
    options: tuple[str, ...]
    calls: Path

    @property
    def identity(self) -> str:
        """NVRTC's identity, the targets, and all flags."""
        return repr((self.nvrtc.identity, *self.targets, *self.preprocess, *self.options, self.calls.name, _UNCOVERED))

    def __call__(self, compilation: Compilation, index: int) -> list[Path]:
        """Compile the device half and return its object file.

        Raises:
            CompileError: NVRTC refused the device half.
            UnsupportedError: a kernel's template argument can't be named in the device half.
        """
        text = self._preprocessed(compilation, index)
        launched = launched_instances(compilation.work / f"{index}.o", kernel_names(next(iter(text.values()))))
        mentioned = identifiers(" ".join(instance.expression for instance in launched))
        halves = {preprocessed: device_half(preprocessed, mentioned) for preprocessed in dict.fromkeys(text.values())}
        jobs = [partial(self._compile, compilation, t, halves[text[t]], launched) for t in self.targets if launched]
        in_parallel(jobs, compilation.processes)
        linked = any(_LINKED.search(flag) for flag in compilation.plan.link_flags)  # then the author's library has them
        uncovered = [] if linked else uncovered_calls(compilation.work / f"{index}.o", self.calls)
        written = identifiers("".join(dict.fromkeys(text.values()))) if uncovered else set()
        return [self._object(compilation, index, launched, [_refusal(name, written) for name in uncovered])]

    def _preprocessed(self, compilation: Compilation, index: int) -> dict[Target, str]:
        """Preprocess for each target, since code under `#if __CUDA_ARCH__ ...` may differ."""
        part, work = compilation.plan.parts[index], compilation.work
        files = {target: work / f"device-{target.number}.ii" for target in self.targets}
        commands = [
            partial(
                compilation.step,
                f"device-{target.number}-text",
                [
                    *part.compiler.link_command, *self.preprocess, f"-D__CUDA_ARCH__={target.number * 10}",
                    *("-MD", "-MT", "unit", "-MF", str(file.with_suffix(".d"))),
                    *("-E", "-x", "c++", str(compilation.folder / part.file), "-o", str(file)),
                ],
            )
            for target, file in {file: (target, file) for target, file in files.items()}.values()
        ]  # fmt: skip
        in_parallel(commands, compilation.processes)
        for file in dict.fromkeys(files.values()):
            extend_depfile(work / f"{index}.d", file.with_suffix(".d"))
        return {target: file.read_bytes().decode("utf-8", "surrogateescape") for target, file in files.items()}

    def _compile(self, compilation: Compilation, target: Target, half: str, launched: Sequence[Instance]) -> None:
        work, name = compilation.work, target.architecture
        source = work / f"{name}.cu"
        source.write_bytes(half.encode("utf-8", "surrogateescape"))
        folders = [f"-I{folder}" for folder in self.nvrtc.include_dirs]
        job = {
            "library": self.nvrtc.library,
            "builtins": self.nvrtc.builtins,
            "source": str(source),
            "name": compilation.plan.parts[0].file,
            "options": [f"-arch={name}", "-default-device", *folders, *self.options],
            "expressions": [instance.expression for instance in launched],
            "kind": "ptx" if target.is_ptx else "cubin",
            "output": str(work / f"{name}.image"),
            "names": str(work / f"{name}.json"),
        }
        (work / f"{name}.job").write_text(json.dumps(job), encoding="utf-8", errors="surrogateescape")
        compilation.step(name, [sys.executable, "-I", "-S", str(_WORKER), str(work / f"{name}.job")])

    def _object(
        self, compilation: Compilation, index: int, launched: Sequence[Instance], refusals: Sequence[str]
    ) -> Path:
        work = compilation.work
        source, result = work / "images.cpp", work / f"{index}-images.o"
        images = images_text(work, self.targets if launched else (), launched)
        source.write_text("#include <opwright/check.h>\n" + images + "".join(refusals), encoding="utf-8")
        command = [
            *compilation.plan.linker.link_command,
            "-std=c++17",
            "-fPIC",
            "-fvisibility=hidden",
            "-fno-lto",
            "-w",
        ]
        compilation.step("images", [*command, f"-I{header_dir()}", "-c", str(source), "-o", str(result)])
        return result
