"""Mistakes with views of tensors: wrong numbers of indices, writes to an input, names of axes, absent members."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from opwright.closest_name import closest_name
from opwright.sources.matching import match as match_kernel
from opwright.toolchain.messages.mistake import Mistake, Rule, one_of
from opwright.toolchain.messages.standard_headers import UNDECLARED

if TYPE_CHECKING:
    from opwright.signature import TensorParam
    from opwright.sources.model import Parameter
    from opwright.toolchain.messages.author import Access, Spot
    from opwright.toolchain.messages.diagnostics import Diagnostic

__all__ = ["RULES"]

_AXES = {1: "N", 2: "M, N", 3: "B, M, N", 4: "B, C, H, W"}
_VIEW = r"opwright::(?:Tensor|Strided|Resizable)<[^'\"]*>"
_MEMBERS = {
    "shape": "size(d) is the length of axis d",
    "sizes": "size(d) is the length of axis d",
    "dim": "ndim() is the number of axes",
    "dims": "ndim() is the number of axes",
    "rank": "ndim() is the number of axes",
    "data_ptr": "data() is the address of its elements",
    "strides": "stride(d) is the stride of axis d",
    "length": "numel() counts its elements, size(d) the length of axis d",
    "count": "numel() counts its elements, size(d) the length of axis d",
    "rows": "size(0) is the number of rows",
    "cols": "size(1) is the number of columns",
    "item": "its element is (...) with its indices; of rank 0, ()",
    "accessor": "it is an accessor already: x[i][j], x(i, j)",
}


def _count(number: int) -> str:
    return f"{number} {'index' if number == 1 else 'indices'}"


def _of_rank(view: Parameter, rank: int) -> str:
    const = "const " if view.const else ""
    return f"`{view.view}<{const}{view.element}, {rank}> {view.name}`"


def _with_axes(declared: TensorParam | None, rank: int) -> str:
    if declared is None or rank not in _AXES:
        return ""
    return f"`{declared.name}: {declared.type}[{_AXES[rank]}]`"


def _wrong_indices(_match: re.Match[str], error: Diagnostic, spot: Spot) -> Mistake | None:
    """Explain a view that has more or fewer indices than its rank, if the author's line has one."""
    for access in spot.accesses():
        if mistake := _indexed(access, spot, error):
            return mistake
    return None


def _indexed(access: Access, spot: Spot, error: Diagnostic) -> Mistake | None:
    view, count = access.view, len(access.indices)
    declared = spot.declared(view.name)
    of = f", for `{declared}` in the signature" if declared else ""
    if view.rank is None and view.view == "Tensor" and count > 1 and access.brackets == "[":
        return Mistake(
            f"{view.name} is declared without a rank, `{view.text}`{of}: in brackets it takes one index, "
            f"{view.name}[i], which counts all elements",
            f"write {view.name}({', '.join(access.indices)}), or declare it with its rank, {_of_rank(view, count)}",
            signature=True,
        )
    if view.rank is None or view.view == "Resizable":
        return None
    if count > view.rank or (access.brackets == "(" and count < view.rank):
        fewer = f"{view.name}({', '.join(access.indices[: view.rank])})"
        more = _with_axes(declared, count) or "another axis in the signature"
        fix = f"write {fewer}; or, if it has {count} axes, {more} in the signature and {_of_rank(view, count)} here"
        if count < view.rank:
            letters = ", ".join((*access.indices, "j", "k", "l", "m")[: view.rank])
            fix = f"write {view.name}({letters}), or {view.name}.flat(i) for element i of them all"
        return Mistake(f"{view.name} has rank {view.rank}, `{view.text}`{of}: it takes {_count(view.rank)}, and "
                       f"{access.text} has {count}", fix, signature=True)  # fmt: skip
    if 0 < count < view.rank and "Tensor<" + ("const " if view.const else "") in _plain(error.text):
        letters = "".join(f"[{letter}]" for letter in ("j", "k", "l", "m")[: view.rank - count])
        return Mistake(
            f"{access.text} is a row of {view.name}, not a number: {view.name} has rank {view.rank}, `{view.text}`{of}",
            f"write {access.text}{letters} for an element" + _flat(view, access),
            signature=True,
        )
    if count == 0 and access.operand and re.search(r"\b(?:Tensor|Strided)<", error.text):
        each = f"{view.name}.flat(i)" if view.view == "Tensor" else f"{view.name}(i, ...)"
        return Mistake(
            f"{view.name} is a whole tensor, `{view.text}`: a kernel computes with its elements",
            f"loop over them: for (int64_t i = 0; i < {view.name}.numel(); ++i) ... {each} ...",
        )
    return None


def _flat(view: Parameter, access: Access) -> str:
    return f", or {view.name}.flat({access.indices[0]}) for element {access.indices[0]} of them all" * (
        view.view == "Tensor" and len(access.indices) == 1
    )


def _plain(text: str) -> str:
    return text.replace("opwright::", "").replace("Strided<", "Tensor<")


def _written(_match: re.Match[str], _error: Diagnostic, spot: Spot) -> Mistake | None:
    """Explain an assignment to an element of a view of const elements."""
    access = next((each for each in spot.accesses() if each.assigned and each.indices and each.view.const), None)
    if access is None:
        return None
    view, declared = access.view, spot.declared(access.view.name)
    bare = "`" + view.text.replace("const ", "", 1) + "`"
    if declared is None:
        return Mistake(f"{view.name} is only read here, `{view.text}`: its elements are const", f"declare it as {bare}")
    return Mistake(
        f"{view.name} is an input, `{declared}`: a kernel reads its inputs and doesn't write to them",
        f"if the caller's tensor is to be overwritten, mark it: `{declared}!` in the signature and {bare} here; if "
        "not, write to an output",
        signature=True,
    )


def _member(match: re.Match[str], _error: Diagnostic, spot: Spot) -> Mistake | None:
    name = next(filter(None, match.groups()))
    if "Strided<" in match[0] and name in ("data", "flat"):
        return Mistake(
            f"a Strided view has no {name}(): its elements may lie anywhere",
            "take its elements by their indices, x(i, j); or declare it as Tensor<...>, which is always dense",
        )
    known = _MEMBERS.get(name, "it has size(d), stride(d), ndim(), numel(), and if it is a Tensor data() and flat(i)")
    del spot
    return Mistake(f"a view of a tensor has no member {name}", known)


def _neighbour(_match: re.Match[str], _error: Diagnostic, spot: Spot) -> Mistake | None:
    """Explain ``x[i]`` in a pointwise function, where x is a number."""
    if spot.kernel is None or not spot.kernel.signature.pointwise:
        return None
    declared = {argument.parameter.name: argument.name for argument in match_kernel(spot.kernel) if argument.name}
    name = next((each for each in declared if re.search(rf"\b{each}\s*\[", spot.text)), None)
    if name is None:
        return None
    return Mistake(
        f"{name} is one element, a number: a pointwise function is called for each element by itself",
        f"for other elements, give the tensors axes, `{declared[name]}: T[N]`, and loop over them in the kernel",
        signature=True,
    )


def _size_of_what(_match: re.Match[str], _error: Diagnostic, spot: Spot) -> Mistake | None:
    called = next((name for name in spot.views if re.search(rf"\b{name}\s*\.\s*size\s*\(\s*\)", spot.text)), None)
    if called is None:
        return None
    return Mistake(
        "size() takes the axis whose length is meant", f"write {called}.size(0), or {called}.numel() for all elements"
    )


def _undeclared(match: re.Match[str], _error: Diagnostic, spot: Spot) -> Mistake | None:
    """Explain an axis of the signature that is used like a variable, or a misspelt parameter."""
    name, kernel = next(filter(None, match.groups())), spot.kernel
    if kernel is None or spot.function is None:
        return None
    if name in kernel.signature.axes:
        return _axis(name, spot)
    meant = {each.name: each.parameter.name for each in match_kernel(kernel) if each.parameter.name}
    if name in meant:
        return Mistake(
            f"the signature's {name} is called {meant[name]} in this function",
            f"write {meant[name]}, or rename the parameter to {name}",
            signature=True,
        )
    known = [parameter.name for parameter in spot.function.parameters if len(parameter.name) > 1]
    if similar := closest_name(name, known):
        return Mistake(f"nothing is called {name} here", f"did you mean the parameter {similar}?")
    from opwright.sources.device_marks import MATHEMATICS

    called = re.search(rf"\b{name}\s*\(", spot.text)
    similar = closest_name(name, sorted(MATHEMATICS)) if called else None
    return Mistake(f"there is no function {name}", f"did you mean {similar}(...)?") if similar else None


def _axis(name: str, spot: Spot) -> Mistake:
    problem = f"{name} is an axis in the signature; C++ has it as a variable only where the function takes it"
    parameter = f"give the function a parameter `int64_t {name}`, which gets the axis"
    sizes = spot.sizes()
    if name not in sizes:
        return Mistake(problem, parameter, signature=True)
    how, tensor = sizes[name]
    return Mistake(problem, f"write {how}, which is {name} of `{tensor}`; or {parameter}", signature=True)


def _returns(_match: re.Match[str], _error: Diagnostic, spot: Spot) -> Mistake | None:
    if spot.kernel is None or spot.kernel.by_name or not spot.kernel.signature.outputs:
        return None
    output = spot.kernel.signature.outputs[0].name
    views = {each.name: each.parameter for each in match_kernel(spot.kernel) if each.role == "output"}
    view = views.get(output)
    if view is None:
        return None
    at = "()" if view.rank == 0 else "[i]" if view.rank in (1, None) else f"({', '.join('ijklmn'[: view.rank])})"
    value = re.search(r"\breturn\s+([^;]+);", spot.text)
    written = value[1].strip() if value else "..."
    return Mistake(
        "a kernel returns nothing: its results are parameters that it writes to",
        f"write {view.name}{at} = {written};",
        signature=True,
    )


RULES = (
    Rule(
        one_of(
            r"assignment of read-only",
            r"(?:in|de)crement of read-only",
            r"passing 'const opwright::\w+' as 'this' argument discards qualifiers",
            r"no match for 'operator[-+*/]?=' \(operand types are 'const opwright::",
            r"cannot assign to return value",
            r"read-only variable is not assignable",
            r"no viable overloaded '[-+*/]?='",
            r"expression must be a modifiable lvalue",
            r'no operator "[-+*/]?=" matches',
            r"the object has type qualifiers that are not compatible with the member function",
        ),
        _written,
    ),
    Rule(
        one_of(
            r"no match for call to '\(",
            r"no match for 'operator",
            r"subscripted value is neither array nor pointer",
            r"invalid types '[^']*' for array subscript",
            r"a view of rank N takes N indices",
            r"(?:cannot|could not) convert '(?:const )?opwright::",
            r"does not provide a call operator",
            r"subscripted value is not an array",
            r"invalid operands (?:to binary expression|of types)",
            r"no viable (?:overloaded|conversion)",
            r"assigning to '.*' from incompatible type",
            r"expression must have pointer-to-object type",
            r'no operator "',
            r"no suitable conversion",
            r"call of an object of a class type without appropriate operator",
        ),
        _wrong_indices,
    ),
    Rule(
        one_of(
            rf"'(?:const )?(?:class |struct )?{_VIEW}' has no member named '(\w+)'",
            rf"no member named '(\w+)' in '{_VIEW}'",
            rf'class "{_VIEW}" has no member "(\w+)"',
            rf"no matching function for call to '{_VIEW}::(?!size\()(\w+)\(",
        ),
        _member,
    ),
    Rule(
        one_of(
            r"no match for 'operator\[\]' \(operand types are '[^']*' and '[^']*'\)",
            r"invalid types '[^']*' for array subscript",
            r"(?:subscripted value is not an array|type '[^']*' does not provide a subscript operator)",
            r'no operator "\[\]" matches these operands',
            r"expression must have pointer-to-object type",
        ),
        _neighbour,
    ),
    Rule(
        one_of(
            rf"no matching function for call to '{_VIEW}::size\(\)'",
            r"too few arguments to function call, single argument 'd'",
            r"too few arguments in function call",
        ),
        _size_of_what,
    ),
    Rule(one_of(*UNDECLARED), _undeclared),
    Rule(
        one_of(
            r"return-statement with a value, in function returning 'void'",
            r"void function '.*' should not return a value",
            r"return value type (?:\(.*\) )?does not match the function type",
        ),
        _returns,
    ),
)
