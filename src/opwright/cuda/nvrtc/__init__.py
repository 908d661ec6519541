"""CUDA sources without a CUDA toolkit: NVRTC compiles the device code, the C++ compiler everything else.

::

    author's code + generated code
      ├─ g++ -E ─► host half (launches in place of kernels' bodies) ─► g++ ─► object ─► list of launched instances
      └─ g++ -E, NVRTC's macros ─► device half (kernels and their dependencies) ─► NVRTC ◄──┘
                                                      └─► cubin or PTX for each target, in the library as bytes
"""

from __future__ import annotations

from opwright.cuda.nvrtc.backend import Nvrtc

__all__ = ["Nvrtc"]
