"""What follows an argument, a result or a whole signature: conditions, combinations of types, launches."""

from __future__ import annotations
