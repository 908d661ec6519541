"""Words of C++ that are no names, by what they do."""

from __future__ import annotations

OPERATORS = frozenset(("and", "or", "not", "xor", "bitand", "bitor", "compl", "not_eq", "and_eq", "or_eq", "xor_eq"))
"""Those that are other spellings of signs."""
STATEMENTS = frozenset(
    (
        *("if", "else", "for", "while", "do", "switch", "case", "return", "goto", "throw"),
        *("co_return", "co_yield", "co_await"),
    )
)
"""Those that an expression or a statement may follow."""
