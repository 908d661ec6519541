"""A folder with a C extension in it."""

from __future__ import annotations

import importlib
import shutil
import sys
import types
from pathlib import Path
from typing import Any

import torch

from opwright.legacy import create_extension
from opwright.legacy.th_library import load_library

CC = shutil.which("cc") or "gcc"
FatalError: type[Exception] = vars(torch)["FatalError"]
HEADER = "int counted(THFloatTensor *x);\n#define X 32\n"
SOURCE = "#include <TH/TH.h>\nint counted(THFloatTensor *x) { return (int)THFloatTensor_nElement(x); }\n"


class Project:
    """A folder with a C extension in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.write("src/my.h", HEADER)
        self.write("src/my.c", SOURCE)

    def write(self, name: str, text: str | bytes) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    def create(self, name: str = "_ext.my", headers: Any = "src/my.h", sources: Any = ("src/my.c",), **kw: Any) -> Any:
        kw.setdefault("relative_to", str(self.folder / "build.py"))
        kw.setdefault("verbose", False)
        return create_extension(name, headers, sources, **kw)

    def load(self, name: str = "_ext.my") -> types.ModuleType:
        """The generated package, imported anew from this folder."""
        load_library()
        top = name.partition(".")[0]
        for known in [known for known in sys.modules if known.partition(".")[0] == top]:
            del sys.modules[known]
        sys.path.insert(0, str(self.folder))
        importlib.invalidate_caches()
        try:
            return importlib.import_module(name)
        finally:
            sys.path.remove(str(self.folder))
