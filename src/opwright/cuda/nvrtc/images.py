"""The C++ text that holds what NVRTC has compiled: for each target its image, and the lowered names of its kernels."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from string import Template

from opwright.cuda.nvrtc.names import Instance
from opwright.cuda.nvrtc.targets import Target

__all__ = ["images_text"]

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
_DATA = Template("""\
asm(".pushsection .rodata\\n.balign 64\\nopwright_image_$index:\\n.incbin $path\\n.byte 0\\n.popsection\\n");
extern const unsigned char opwright_image_$index[] __attribute__((visibility("hidden")));
""")


def images_text(work: Path, targets: Sequence[Target], found: Sequence[Instance]) -> str:
    """The C++ text of the table of images."""
    data, names, rows = [], [], []
    for index, target in enumerate(targets):
        lowered = json.loads((work / f"{target.architecture}.json").read_text(encoding="utf-8"))
        path = json.dumps(
            json.dumps(str(work / f"{target.architecture}.image"), ensure_ascii=False), ensure_ascii=False
        )
        data.append(_DATA.substitute(index=index, path=path[1:-1]))
        listed = ", ".join(f'{{"{each.key}", "{lowered[each.expression]}"}}' for each in found)
        names.append(f"const Name names_{index}[] = {{{listed}}};")
        flags = ", ".join(str(bool(flag)).lower() for flag in (target.is_ptx, target.exact))
        what = f'"{target.architecture}", {target.number}, {flags}'
        rows.append(f"  {{{what}, opwright_image_{index}, names_{index}, {len(found)}}},")
    return _IMAGES.substitute(
        data="".join(data), names="\n".join(names), rows="\n".join(rows) or "  {}", count=len(targets)
    )
