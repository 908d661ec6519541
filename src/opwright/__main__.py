"""The entry point of ``python -m opwright``."""

from opwright.cli import main

main()
