"""The emulator's runtime: one shared library for all that is emulated, built once for each compiler."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from opwright.errors import ToolchainError
from opwright.toolchain import Options, Unit, build, line_directive

_OPTIONS = Options(extra_cflags=("-O2", "-fno-strict-aliasing", "-pthread"), extra_ldflags=("-pthread",))


def runtime(*, check: bool = False, on_progress: Callable[[str], None] | None = None) -> Path:
    """The library that emulated code is linked with; from the cache, or built.

    Args:
        check: the one that watches every access.
        on_progress: called with a line of text when it has to be built.

    Raises:
        ToolchainError: no usable compiler or no usable cache folder.
    """
    files = sorted((Path(__file__).parent / "csrc").glob("*.cpp"))
    units = [_unit(path) for path in files if check or not path.stem.startswith("check")]
    if not units:
        raise ToolchainError(f"Opwright's installation is damaged: {Path(__file__).parent / 'csrc'} is empty")
    name = "opwright-emulation-checked" if check else "opwright-emulation"
    options = Options(
        extra_cflags=(*_OPTIONS.extra_cflags, *(("-DOPWRIGHT_EMULATION_CHECK",) if check else ())),
        extra_ldflags=_OPTIONS.extra_ldflags,
    )
    first, *rest = units
    return build(
        Unit(name, first.text, first.source, extra=tuple(rest), embeds=True), options, on_progress=on_progress
    ).path


def _unit(path: Path) -> Unit:
    return Unit(path.stem, f"{line_directive(path)}\n{path.read_text('utf-8')}", path, embeds=True)
