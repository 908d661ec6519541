"""nvcc's command line: which sources to compile, how, and into what.

Options about the GPU (architectures, registers, ptxas) mean nothing here and are accepted; what nvcc would write that
the emulator can't (PTX, cubins), and options that nobody knows, are refused by name.
"""

from __future__ import annotations

import dataclasses
import os
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from opwright.errors import ToolchainError

Product = Literal["program", "object", "text", "library", "archive", "version", "nothing"]

SOURCES = {".cu": "cuda", ".cpp": "c++", ".cc": "c++", ".cxx": "c++", ".c++": "c++", ".C": "c++", ".c": "c"}
"""The language of a source by its suffix, as nvcc knows it."""
_LINKED = (".o", ".obj", ".a", ".so", ".lo")

_NOTHING = {
    *("-lineinfo", "--generate-line-info", "-use_fast_math", "--use_fast_math", "-restrict", "--restrict"),
    *("-extended-lambda", "--extended-lambda", "-expt-extended-lambda", "--expt-extended-lambda"),
    *("-expt-relaxed-constexpr", "--expt-relaxed-constexpr", "-m64", "-v", "--verbose", "-keep", "--keep", "-w"),
    *("-res-usage", "--resource-usage", "-Wno-deprecated-gpu-targets", "--Wno-deprecated-gpu-targets"),
    *("-src-in-ptx", "--source-in-ptx", "-dlto", "--dlink-time-opt", "-ewp", "--extensible-whole-program"),
    *("--disable-warnings", "-noprof", "--no-host-device-initializer-list", "-nohdinitlist", "-split-compile"),
    *(
        "--no-host-device-move-forward",
        "-nohdmoveforward",
        "-clean",
        "--clean-targets",
        "-objtemp",
        "--objdir-as-tempdir",
    ),
    *("-MP", "--generate-dependency-targets", "-cuda", "--no-compress", "-no-compress", "-Wreorder", "--Wreorder"),
    *("--display-error-number", "-display-error-number", "--no-display-error-number", "-no-display-error-number"),
    *("-Wdefault-stream-launch", "--Wdefault-stream-launch", "-Wext-lambda-captures-this", "-pg", "--profile"),
}
"""Options without a value that change nothing here."""
_NOTHING_WITH_VALUE = {
    *("-arch", "--gpu-architecture", "-code", "--gpu-code", "-gencode", "--generate-code", "-maxrregcount"),
    *("--maxrregcount", "-Xptxas", "--ptxas-options", "-Xnvlink", "--nvlink-options", "-Xcudafe", "-Xfatbin"),
    *("--fatbin-options", "-cudart", "--cudart", "-ccbin", "--compiler-bindir", "-t", "--threads", "-keep-dir"),
    *("--keep-dir", "-m", "--machine", "-rdc", "--relocatable-device-code"),
    *(
        "-ftz",
        "--ftz",
        "-prec-div",
        "--prec-div",
        "-prec-sqrt",
        "--prec-sqrt",
        "-fmad",
        "--fmad",
        "-Werror",
        "--Werror",
    ),
    *("-diag-suppress", "--diag-suppress", "-diag-error", "--diag-error", "-diag-warn", "--diag-warn", "-Xarchive"),
    *("-odir", "--output-directory", "-cudadevrt", "--cudadevrt", "-nvlink-options", "-extra-device-vectorization"),
    *("-allow-unsupported-compiler", "-arch-list", "-split-compile", "-Ofast-compile", "--Ofast-compile", "-ldir"),
}
"""Options with a value (``-arch=sm_80``, ``-arch sm_80``) that change nothing here."""
_REFUSED = {
    **dict.fromkeys(("-ptx", "--ptx"), "PTX"),
    **dict.fromkeys(("-cubin", "--cubin"), "a cubin"),
    **dict.fromkeys(("-fatbin", "--fatbin", "-dw", "--device-w"), "a fatbin"),
    **dict.fromkeys(("-optix-ir", "--optix-ir", "-ltoir", "--ltoir"), "code for GPUs"),
}
_JOINED = ("-D", "-U", "-I", "-L", "-l", "-O", "-x")
"""Options whose value may follow without a space."""
_VALUED = ("-o", "-MF", "-MT", "-isystem", "-include", "-std", "-Xcompiler", "-Xlinker", "-optf", "-default-stream")
"""Options whose value is a word of its own, or follows ``=``."""
_ALIASES = {
    "--define-macro": "-D",
    "--undefine-macro": "-U",
    "--include-path": "-I",
    "--library-path": "-L",
    "--library": "-l",
    "--optimize": "-O",
    "--std": "-std",
    "--output-file": "-o",
    "--compile": "-c",
    "--device-c": "-dc",
    "--link": "-link",
    "--debug": "-g",
    "--device-debug": "-G",
    "--preprocess": "-E",
    "--compiler-options": "-Xcompiler",
    "--linker-options": "-Xlinker",
    "--x": "-x",
    "--shared": "-shared",
    "--system-include": "-isystem",
    "--pre-include": "-include",
    "--lib": "-lib",
    "--run": "-run",
    "--dryrun": "-dryrun",
    "--version": "-V",
    "--device-link": "-dlink",
    "--options-file": "-optf",
    "--default-stream": "-default-stream",
    "--generate-dependencies": "-M",
    "--generate-nonsystem-dependencies": "-MM",
    "--dependency-output": "-MF",
    "--dependency-target-name": "-MT",
    "--generate-dependencies-with-compile": "-MD",
    "--help": "-h",
    "--generate-nonsystem-dependencies-with-compile": "-MMD",
}
CUDA_LIBRARIES = {
    *("cudart", "cudart_static", "cudadevrt", "cuda", "cublas", "cublasLt", "curand", "cufft", "cusparse", "cusolver"),
    *("nvToolsExt", "nvrtc", "nvidia-ml"),
}
"""Libraries of the toolkit, for extensions: emulated ones are linked where they are called."""
_OF_THE_RUNTIME = {
    *("cudart", "cudart_static", "cudadevrt", "cuda", "nvToolsExt", "nvtx3interop", "rt", "dl", "culibos"),
    *("cublas", "cublas_static", "cublasLt", "cublasLt_static", "curand", "curand_static", "nccl"),
    *("cufft", "cufft_static", "cusparse", "cusparse_static"),
}
"""Libraries that the emulator stands for, and that are part of glibc."""


@dataclass(frozen=True)
class Request:
    """What a command line asks for.

    Attributes:
        sources: the sources to compile.
        linked: object files, archives and libraries by path, in order.
        product: what to make of them.
        output: the file to write; None: nvcc's default.
        defines: ``-D`` and ``-U`` options, in order.
        include_dirs: the folders of ``-I`` and ``-isystem``.
        included: headers of ``-include``.
        host_flags: options for the host compiler.
        link_flags: options for the linker.
        std: the C++ standard.
        optimize: 0 to 3.
        debug: whether to write debug information.
        language: the language of all sources, if it isn't told by their suffixes.
        depfile: the file of ``-MF``; "" with ``-MD`` alone; None: no dependencies.
        check: whether every access is checked.
        run: whether to run the program.
    """

    sources: tuple[Path, ...] = ()
    linked: tuple[str, ...] = ()
    product: Product = "program"
    output: Path | None = None
    defines: tuple[str, ...] = ()
    include_dirs: tuple[str, ...] = ()
    included: tuple[str, ...] = ()
    host_flags: tuple[str, ...] = ()
    link_flags: tuple[str, ...] = ()
    std: str = "c++17"
    optimize: int = 3
    debug: bool = False
    language: str = ""
    depfile: str | None = None
    check: bool = False
    run: bool = False

    def language_of(self, source: Path) -> str:
        """Return ``"cuda"``, ``"c++"`` or ``"c"``."""
        return self.language or SOURCES.get(source.suffix, "cuda")


def parse(arguments: Sequence[str]) -> Request:
    """Return what nvcc's `arguments` ask for.

    Raises:
        ToolchainError: an option isn't known, asks for code for GPUs, or lacks its value.
    """
    return _Parser([*arguments]).request


class _Parser:
    """Takes the words of a command line one after the other."""

    def __init__(self, words: list[str]) -> None:
        self._words = words
        self._forwards = any(word.lstrip("-") == "forward-unknown-to-host-compiler" for word in words)
        self.request = Request()
        while self._words:
            self._take(self._words.pop(0))

    def _add(self, **values: str | Sequence[str]) -> None:
        """Append to fields of the request."""
        added = {name: (value,) if isinstance(value, str) else tuple(value) for name, value in values.items()}
        fields = {name: (*getattr(self.request, name), *value) for name, value in added.items()}
        self.request = dataclasses.replace(self.request, **fields)  # type: ignore[arg-type]

    def _set(self, **values: object) -> None:
        self.request = dataclasses.replace(self.request, **values)  # type: ignore[arg-type]

    def _take(self, word: str) -> None:
        if not word.startswith("-") or word == "-":
            self._file(word)
            return
        option, equals, value = word.partition("=")
        option = _ALIASES.get(option, option)
        if option in _NOTHING or (equals and option in _NOTHING_WITH_VALUE):
            return
        if option in _NOTHING_WITH_VALUE:
            self._value(option, "", "")
        elif option in _REFUSED:
            raise ToolchainError(
                f"{word} asks for {_REFUSED[option]}, and emulated programs run on the CPU\n"
                "  likely fix: leave that target out, or build it with the CUDA toolkit's nvcc"
            )
        elif not self._plain(option) and not self._valued(option, equals, value) and not self._joined(word):
            self._unknown(word)

    def _plain(self, option: str) -> bool:
        """Take an option without a value; return whether it is one."""
        products: dict[str, Product] = {
            **dict.fromkeys(("-c", "-dc"), "object"), "-E": "text", "-shared": "library", "-lib": "archive",
            "-V": "version", "-dlink": "nothing", "-link": "program", "-M": "text", "-MM": "text",
        }  # fmt: skip
        if option in ("-M", "-MM"):
            self._add(host_flags=option)
        if option in products:
            self._set(product=products[option])
        elif option in ("-g", "-G"):
            self._set(debug=True, **({"optimize": 0} if option == "-G" else {}))
        elif option in ("-MD", "-MMD"):
            self._set(depfile=self.request.depfile or "")
        elif option == "--check":
            self._set(check=True)
        elif option == "-run":
            self._set(run=True)
        elif option in ("-dryrun", "-h"):
            raise ToolchainError(
                f"opwright nvcc has no {option}\n  likely fix: docs/cuda_programs.md lists its options"
            )
        elif option in ("-pthread", "-fopenmp"):
            self._add(host_flags=option, link_flags=option)
        elif option in ("-forward-unknown-to-host-compiler", "--forward-unknown-to-host-compiler"):
            pass
        else:
            return False
        return True

    def _valued(self, option: str, equals: str, value: str) -> bool:
        """Take an option whose value is a word of its own or follows ``=``; return whether it is one."""
        if option not in _VALUED and not (option in _JOINED and (equals or option != "-O")):
            return False
        self._store(option, self._value(option, equals, value))
        return True

    def _joined(self, word: str) -> bool:
        option = next((each for each in _JOINED if word.startswith(each) and word != each), "")
        if not option:
            return False
        self._store(option, word[2:])
        return True

    def _value(self, option: str, equals: str, value: str) -> str:
        if equals:
            return value
        if not self._words:
            raise ToolchainError(f"{option} needs a value, and the command line ends there")
        return self._words.pop(0)

    def _store(self, option: str, value: str) -> None:
        """Store an option's value in the request."""
        listed = _listed(value)
        added: dict[str, tuple[str, list[str]]] = {
            "-D": ("defines", [f"-D{each}" for each in listed]),
            "-U": ("defines", [f"-U{each}" for each in listed]),
            "-default-stream": ("defines", ["-DCUDA_API_PER_THREAD_DEFAULT_STREAM=1"] * (value == "per-thread")),
            "-I": ("include_dirs", listed),
            "-isystem": ("include_dirs", listed),
            "-include": ("included", listed),
            "-L": ("link_flags", [f"-L{os.path.abspath(each)}" for each in listed]),
            "-l": ("link_flags", [f"-l{each}" for each in listed if each not in _OF_THE_RUNTIME]),
            "-MT": ("host_flags", ["-MT", value]),
            "-Xlinker": ("link_flags", [f"-Wl,{each}" for each in listed]),
        }
        fixed: dict[str, dict[str, object]] = {
            "-O": {"optimize": min(int(value), 3) if value.isdigit() else 3},
            "-x": {"language": {"cu": "cuda", "c++": "c++", "c": "c"}.get(value, "")},
            "-o": {"output": Path(value)},
            "-std": {"std": value},
            "-MF": {"depfile": value},
        }
        if option in added:
            name, words = added[option]
            self._add(**{name: words})
        elif option in fixed:
            self._set(**fixed[option])
        elif option == "-optf":
            self._words[:0] = [word for file in listed for word in _words_in(file)]
        else:
            self._host(value)

    def _host(self, value: str) -> None:
        """Take options for the host compiler, ``-Xcompiler "-Wall,-fopenmp"``."""
        words = [word for each in _listed(value) for word in shlex.split(each)]
        optimize = next((word for word in reversed(words) if word.startswith("-O")), "")
        if optimize[2:3].isdigit():
            self._set(optimize=int(optimize[2:3]))
        for_linker = [word for word in words if word.startswith("-Wl,")]
        kept = [word for word in words if not word.startswith(("-O", "-march", "-mtune", "-W"))]
        self._add(host_flags=kept)
        self._add(link_flags=[*for_linker, *(word for word in kept if word in ("-fopenmp", "-pthread"))])

    def _file(self, word: str) -> None:
        if self.request.language or Path(word).suffix in SOURCES:
            self._add(sources=[Path(word)])  # type: ignore[list-item]
        elif Path(word).name.endswith(_LINKED) or ".so." in word:
            self._add(linked=[word])
        else:
            raise ToolchainError(
                f"{word!r} is neither a source ({', '.join(SOURCES)}) nor an object or library\n"
                "  likely fix: name its language, -x cu"
            )

    def _unknown(self, word: str) -> None:
        if self._forwards:
            self._host(word)
            return
        raise ToolchainError(
            f"the option {word} isn't known\n"
            f"  likely fix: if it is for the host compiler, pass it as -Xcompiler {word}; else leave it out"
        )


def _listed(value: str) -> list[str]:
    """Split a value at commas, outside of parentheses and quotes, as nvcc does."""
    pieces, depth, quoted = [""], 0, ""
    for letter in value:
        if quoted or letter in "\"'":
            quoted = "" if letter == quoted else quoted or letter
        depth += (letter == "(") - (letter == ")")
        if letter == "," and not depth and not quoted:
            pieces.append("")
        else:
            pieces[-1] += letter
    return [piece for piece in pieces if piece]


def _words_in(file: str) -> Iterator[str]:
    try:
        yield from shlex.split(Path(file).read_text("utf-8"), comments=True)
    except OSError as error:
        raise ToolchainError(f"the options in {file} can't be read: {error.strerror}") from error
