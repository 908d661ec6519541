"""CUDA sources without a CUDA toolkit: NVRTC compiles the device code, the C++ compiler everything else.

::

    author's text + generated text
      ├─ g++ -E ─► host half (kernels' bodies become their launches) ─► g++ ─► object ─► which instances are launched
      └─ g++ -E, NVRTC's macros ─► device half (kernels, and what they mention) ─► NVRTC ◄──┘
                                                      └─► cubin or PTX for each target, in the library as bytes
"""

from __future__ import annotations

from opwright.cuda.nvrtc.backend import Nvrtc

__all__ = ["Nvrtc"]
