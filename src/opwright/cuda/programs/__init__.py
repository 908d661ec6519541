"""Whole CUDA programs on the CPU: nvcc's command line, compiled against the emulator, linked to programs."""

from __future__ import annotations

from opwright.cuda.programs.build import build_program, run_nvcc

__all__ = ["build_program", "run_nvcc"]
