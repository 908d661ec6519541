"""What is done with the two halves while the toolchain builds a library."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from opwright.cuda.nvrtc.device import device_half, kernel_names
from opwright.cuda.nvrtc.discovery import Nvrtc
from opwright.cuda.nvrtc.host import host_half
from opwright.cuda.nvrtc.images import images_text
from opwright.cuda.nvrtc.names import Instance, instances
from opwright.cuda.nvrtc.targets import Target
from opwright.sources.chunks import identifiers
from opwright.toolchain import header_dir
from opwright.toolchain.compilation import Compilation
from opwright.toolchain.manifest import extend_depfile
from opwright.toolchain.process import in_parallel

__all__ = ["DeviceHalf", "HostHalf"]

_WORKER = Path(__file__).with_name("worker.py")


@dataclass(frozen=True)
class HostHalf:
    """Makes the host half of the preprocessed text.

    Attributes:
        variables: filled in: the names of variables that only the device has.
    """

    variables: set[str] = field(default_factory=set, compare=False)

    @property
    def identity(self) -> str:
        """It does what this version of Opwright does."""
        return "nvrtc-host"

    def __call__(self, text: str, again: Callable[[Sequence[str]], str]) -> str:  # noqa: ARG002
        """The host half.

        Raises:
            UnsupportedError: the text can't be split.
            SourceError: a launch can't be read.
        """
        half, variables = host_half(text)
        self.variables.update(variables)
        return half


@dataclass(frozen=True)
class DeviceHalf:
    """Compiles the device half, once for each target, to an object file with all images.

    Attributes:
        nvrtc: the compiler.
        targets: what to compile for.
        preprocess: the words of the preprocessor, without what says for which target.
        options: further words for NVRTC.
    """

    nvrtc: Nvrtc
    targets: tuple[Target, ...]
    preprocess: tuple[str, ...]
    options: tuple[str, ...]

    @property
    def identity(self) -> str:
        """NVRTC, its words, and how it is started."""
        return repr((self.nvrtc.identity, *self.targets, *self.preprocess, *self.options))

    def __call__(self, compilation: Compilation, index: int) -> list[Path]:
        """The object file.

        Raises:
            CompileError: NVRTC refused the device half.
            UnsupportedError: a kernel's template argument can't be named in it.
        """
        text = self._preprocessed(compilation, index)
        found = instances(compilation.work / f"{index}.o", kernel_names(next(iter(text.values()))))
        mentioned = identifiers(" ".join(instance.expression for instance in found))
        halves = {each: device_half(each, mentioned) for each in dict.fromkeys(text.values())}
        jobs = [partial(self._compile, compilation, t, halves[text[t]], found) for t in self.targets if found]
        in_parallel(jobs, compilation.processes)
        return [self._object(compilation, index, found)]

    def _preprocessed(self, compilation: Compilation, index: int) -> dict[Target, str]:
        """The device's text for each target: what stands under `#if __CUDA_ARCH__ ...` may differ."""
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

    def _compile(self, compilation: Compilation, target: Target, half: str, found: Sequence[Instance]) -> None:
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
            "expressions": [instance.expression for instance in found],
            "kind": "ptx" if target.is_ptx else "cubin",
            "output": str(work / f"{name}.image"),
            "names": str(work / f"{name}.json"),
        }
        (work / f"{name}.job").write_text(json.dumps(job), encoding="utf-8", errors="surrogateescape")
        compilation.step(name, [sys.executable, "-I", "-S", str(_WORKER), str(work / f"{name}.job")])

    def _object(self, compilation: Compilation, index: int, found: Sequence[Instance]) -> Path:
        work = compilation.work
        source, result = work / "images.cpp", work / f"{index}-images.o"
        source.write_text(images_text(work, self.targets if found else (), found), encoding="utf-8")
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
