"""Checks PyTorch and the native runtime for it, in a child process: an import may fail, crash, or hang."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

from opwright._version import OLDEST_PYTORCH, is_too_old
from opwright.doctor.findings import Finding, note, ok, wrong
from opwright.doctor.subprocesses import ask_python

SECONDS = 60.0
_MARK = "opwright doctor: "


class TorchFacts(NamedTuple):
    """Facts about the installed PyTorch.

    Attributes:
        missing: whether PyTorch isn't installed.
        problem: why it can't be imported; else empty.
        version: such as ``2.13.0+cpu``.
        file: the path of the imported module.
        cuda: the CUDA version that it was built with; None: a build for the CPU.
        hip: the ROCm version.
        cxx11_abi: whether it uses the new ``std::string`` of libstdc++, the default of compilers.
        compiler: the compiler that it was built with.
        architectures: the GPU architectures that it has code for, such as ``sm_90``.
        runtime: the file of Opwright's native runtime for it; None: not built yet.
        runtime_problem: why the native runtime can't be found or loaded; else empty.
        indirect: why calls of operators can't take the direct path of the native runtime; else empty.
    """

    missing: bool = False
    problem: str = ""
    version: str = ""
    file: str = ""
    cuda: str | None = None
    hip: str | None = None
    cxx11_abi: bool = True
    compiler: str = ""
    architectures: tuple[str, ...] = ()
    runtime: str | None = None
    runtime_problem: str = ""
    indirect: str = ""


def torch_facts() -> TorchFacts:
    """Import PyTorch in a child process, and return its facts."""
    code = (
        "import os\nfrom opwright.doctor import pytorch\npytorch.print_facts()\nos._exit(0)\n"  # PyTorch's end is slow
    )
    answer = ask_python(code, seconds=SECONDS)
    lines = [line.removeprefix(_MARK) for line in answer.text.splitlines() if line.startswith(_MARK)]
    if not lines:
        return TorchFacts(problem=answer.why)
    facts = json.loads(lines[-1])
    return TorchFacts(**{**facts, "architectures": tuple(facts.get("architectures", ()))})


def print_facts() -> None:
    """Print the facts of the PyTorch in this process, as one line."""
    facts: dict[str, Any] = {}
    try:
        import torch

        facts = _facts(torch)
    except ModuleNotFoundError as error:
        facts = {"missing": True} if error.name == "torch" else {"problem": f"ModuleNotFoundError: {error}"}
    except BaseException as error:  # noqa: BLE001 - a broken installation may raise anything
        facts = {"problem": f"{type(error).__name__}: {error}"}
    sys.stdout.write(f"\n{_MARK}{json.dumps(facts)}\n")
    sys.stdout.flush()


def _facts(torch: Any) -> dict[str, Any]:
    config = torch.__config__.show()
    facts = {
        "version": torch.__version__,
        "file": torch.__file__,
        "cuda": torch.version.cuda,
        "hip": torch.version.hip,
        "cxx11_abi": torch.compiled_with_cxx11_abi(),
        "compiler": "".join(config.splitlines()[1:2]).strip(" -"),
        "architectures": list(dict.fromkeys(re.findall(r"code=(sm_\w+)", config))),
    }
    return {**facts, **_runtime()}


def _runtime() -> dict[str, Any]:
    """Find Opwright's native runtime for this PyTorch, and try to load it."""
    from opwright.errors import OpwrightError

    indirect = ""
    try:
        from opwright.runtime.native.direct import DirectPath
        from opwright.runtime.native.runtime import Native, known_native

        path = known_native()
        if path is not None:
            indirect = DirectPath(Native(path)).obstacle
    except (OpwrightError, OSError, AttributeError, ImportError) as error:
        return {"runtime_problem": str(error)}
    return {"runtime": path and str(path), "indirect": indirect}


_AGAIN = "pip install --force-reinstall torch"
_FILES = {
    "headers": "include/torch/extension.h",
    "C10 headers": "include/c10/macros/Macros.h",
    "libraries": "lib",
}


def examine_pytorch(torch: TorchFacts) -> Iterator[Finding]:
    """Check whether PyTorch is installed, in the supported range, and complete; report its build."""
    if torch.missing:
        text = "PyTorch is not installed for this Python: operators can be built, not loaded"
        yield wrong("version", text, "pip install opwright[torch], or choose a build on pytorch.org")
        return
    if torch.problem:
        text = f"PyTorch can't be imported: {torch.problem}"
        yield wrong("import", text, f"{_AGAIN}, then: python -c 'import torch'")
        return
    folder = os.path.dirname(torch.file)
    yield _version(torch.version, folder)
    if torch.hip:
        yield note("build", f"for ROCm {torch.hip}: Opwright runs its operators on the CPU")
    elif torch.cuda:
        yield ok("build", f"for CUDA {torch.cuda} ({', '.join(torch.architectures) or 'no architectures'})")
    else:
        yield ok("build", "for the CPU")
    yield _files(folder)
    if torch.cxx11_abi:
        yield ok("C++ ABI", "_GLIBCXX_USE_CXX11_ABI=1, as compilers have it by default")
    else:
        yield note(
            "C++ ABI",
            "_GLIBCXX_USE_CXX11_ABI=0: extensions and all C++ libraries that they link must be compiled so, too",
            "add -D_GLIBCXX_USE_CXX11_ABI=0 to what you build by hand (Opwright does so by itself)",
        )
    if torch.compiler:
        yield ok("built with", torch.compiler)


def _version(version: str, folder: str) -> Finding:
    if not is_too_old(version):
        return ok("version", f"{version} in {folder}")
    text = f"PyTorch {version} in {folder} is too old, expected {OLDEST_PYTORCH} or newer"
    return wrong("version", text, f'pip install "torch>={OLDEST_PYTORCH}"')


def _files(folder: str) -> Finding:
    missing = [name for name, path in _FILES.items() if not os.path.exists(os.path.join(folder, path))]
    if not missing:
        return ok("files", f"{os.path.join(folder, 'include')} and {os.path.join(folder, 'lib')}")
    return wrong(
        "files",
        f"PyTorch's {' and '.join(missing)} are missing below {folder}: nothing can be compiled against it",
        f"{_AGAIN} (some distributions' packages have them in another one, for developers)",
    )


def examine_runtime(torch: TorchFacts) -> Iterator[Finding]:
    """Check whether Opwright's native runtime for this PyTorch is built and can be loaded."""
    requested = os.environ.get("OPWRIGHT_RUNTIME")
    if torch.missing or torch.problem:
        yield note("runtime", "not looked for: it belongs to PyTorch, which can't be had")
    elif requested == "python":
        yield ok("runtime", "the one in Python is asked for (OPWRIGHT_RUNTIME): slower at each call, nothing to build")
    elif torch.runtime_problem:
        text, _, fix = torch.runtime_problem.partition("\n  likely fix: ")
        fallback = "; the one in Python is used" if requested != "native" else ""
        yield wrong("runtime", f"the native one can't be had{fallback}: {text}", fix or "opwright cache clean")
    elif torch.runtime:
        yield ok("runtime", f"native, for PyTorch {torch.version}: {torch.runtime}")
        if torch.indirect:
            yield note("calls", f"through PyTorch's parser and dispatcher, which is slower: {torch.indirect}")
        else:
            yield ok("calls", "by the direct path where nothing listens, else through PyTorch's dispatcher")
    else:
        text = f"the native one isn't built yet for PyTorch {torch.version}"
        yield note("runtime", text, "the first load builds it (once)")
