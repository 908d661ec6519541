"""Lets the tests import this folder's modules by name, in whatever folder pytest is started."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
