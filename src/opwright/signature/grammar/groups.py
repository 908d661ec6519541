"""Rules for groups of axes, and for arguments that choose an axis, a type or a device.

Each error points at what breaks the rule.
"""

from __future__ import annotations

from opwright.signature.chosen.kinds import AxisKind, DeviceKind, DtypeKind
from opwright.signature.expr import Axis, Group, KeptAxis
from opwright.signature.grammar.parsed import Parsed
from opwright.signature.model import Signature
from opwright.signature.parameters import Param, ScalarParam, TensorParam


def check_groups(parsed: Parsed) -> None:
    """Fail if a group can't be told in each call, or an argument chooses an axis that no group surrounds."""
    signature, rules = parsed.signature, _Rules(parsed)
    if signature.grouping:
        rules.form()
        rules.flags()
    rules.chosen()
    if signature.grouping.names:
        rules.told()


def check_chosen(parsed: Parsed) -> None:
    """Fail if an argument that is an element type or a device doesn't fit the others."""
    signature, tokens = parsed.signature, parsed.tokens
    scalars = [(param, place) for param, place in parsed.params if isinstance(param, ScalarParam)]
    devices = [(param, place) for param, place in scalars if isinstance(param.kind, DeviceKind)]
    seen: dict[str, str] = {}
    for param, place in scalars:
        if not isinstance(param.kind, DtypeKind):
            continue
        _check_dtype(parsed, param, param.kind, place)
        variable = param.kind.variable
        if variable in seen:
            what = f"{seen[variable]!r} and {param.name!r} both say what {variable} is"
            tokens.fail(what, f"another variable: {param.name}: dtype({variable}2)", place)
        seen[variable] = param.name
    if len(devices) > 1:
        tokens.fail("an operator is on one device, and has two arguments for it", "leave one out", devices[1][1])
    if devices and signature.is_backward:
        tokens.fail("a backward is on the device of its tensors", "leave it out", devices[0][1])


def _check_dtype(parsed: Parsed, param: ScalarParam, kind: DtypeKind, place: int) -> None:
    signature, tokens = parsed.signature, parsed.tokens
    variable, name = kind.variable, param.name
    if signature.is_backward:
        what = f"{name!r} says what {variable} is, which a backward is told by its tensors"
        tokens.fail(what, f"leave it out; grad_y: {variable}[N] tells it", place)
    if variable not in signature.type_variables:
        used = ", ".join(signature.type_variables) or "none"
        what = f"{name!r} says what {variable} is, and no tensor has that element type; the type variables are: {used}"
        tokens.fail(what, f"-> (y: {variable}[N])", place)
    if kind.fallback and kind.fallback not in _bound_by_tensors(signature):
        what = f"{name!r} is {kind.fallback} by default, which no input that is always given has"
        fix = f"x: {kind.fallback}[...] among the inputs, or a type: {name}: dtype({variable}) = f32"
        tokens.fail(what, fix, place)
    if param.default is not None and param.default not in signature.allowed(variable):
        listed = ", ".join(map(str, signature.allowed(variable)))
        what = f"{name!r} is {param.default} by default, and {variable} is one of {listed}"
        where = parsed.positions.variables.get(variable, place)
        tokens.fail(what, f"where {variable} in ({listed}, {param.default})", where)


def _bound_by_tensors(signature: Signature) -> set[str]:
    return {t.type.name for t in signature.tensors if t.type.kind == "var" and not t.optional}


class _Rules:
    def __init__(self, parsed: Parsed) -> None:
        self.signature, self.grouping = parsed.signature, parsed.signature.grouping
        self.params, self.tensors = parsed.params, parsed.tensors
        self.positions, self.tokens = parsed.positions, parsed.tokens

    def form(self) -> None:
        """Check what stands beside groups."""
        for tensor, place in self.tensors:
            if not self.grouping.has(tensor):
                continue
            groups = [dim.name for dim in tensor.dims if isinstance(dim, Group)]
            twice = next((name for name in groups if groups.count(name) > 1), None)
            if twice:
                self.tokens.fail(f"*{twice} stands twice in {tensor.name!r}", f"another name: *{twice}2", place)
            if tensor.has_ellipsis or (groups and self.signature.has_ellipsis):
                self.tokens.fail("'...' and named groups of axes don't mix", "name all of them: [*A, N]", place)
            if self.signature.batched:
                fix = "leave out 'batched', or the groups"
                self.tokens.fail("'batched' brings the leading axes itself", fix, self.positions.modifiers["batched"])

    def flags(self) -> None:
        """Check that the bools that decide axes are bools."""
        kinds = {scalar.name: str(scalar.kind) for scalar in self.signature.scalars}
        dims = [dim for tensor, _ in self.tensors if tensor.shape for dim in tensor.shape.dims]
        kept = [dim for dim in dims if isinstance(dim, KeptAxis)]
        for dim, place in zip(kept, self.positions.kept, strict=True):
            if kinds.get(dim.flag) != "bool":
                what = f"which is {kinds[dim.flag]}" if dim.flag in kinds else "which is no argument"
                fix = f"among the inputs, {dim.flag}: bool = False"
                self.tokens.fail(f"whether the axis of {dim} is there is up to {dim.flag!r}, {what}", fix, place)

    def chosen(self) -> None:
        """Check that an argument that chooses an axis has one to choose."""
        choosing = [(param, place) for param, place in self.params if _chooses(param)]
        if not choosing:
            return
        chosen, place = choosing[0]
        if len(choosing) > 1:
            what = "an operator has one argument that chooses an axis"
            self.tokens.fail(what, "move the axes together first, with torch.movedim", choosing[1][1])
        axis = self.grouping.axis
        fix = f"x: T[*A, {axis}, *B]"
        if self.grouping.around is None:
            among = "an input" if not self.signature.is_backward else "a tensor"
            self.tokens.fail(f"{chosen.name!r} says which axis {axis} is, so {among} has it between groups", fix, place)
        surrounded = [tensor for tensor in self._given() if self.grouping.surrounds(tensor)]
        forward = self.signature.is_backward or any(
            tensor.dims[1:2] == (Axis(axis),) and len(tensor.dims) == 3 for tensor in surrounded
        )
        if not surrounded or not forward:
            before, after = self.grouping.around
            what = f"no input that is always given has the axes around {axis}, *{before} and *{after}"
            self.tokens.fail(f"{chosen.name!r}: {what}", f"x: T[*{before}, {axis}, *{after}]", place)

    def told(self) -> None:
        """Check that the inputs tell how many axes each group has."""
        known = {*(self.grouping.around or ())}
        while True:
            unknown = [[name for name in _groups(tensor) if name not in known] for tensor in self._given()]
            found = {names[0] for names in unknown if len(names) == 1}
            if not found:
                break
            known |= found
        for tensor, place in self.tensors:
            missing = [name for name in _groups(tensor) if name not in known]
            optional = tensor.optional and len(missing) == 1
            if missing and not optional:
                listed = " and ".join(f"*{name}" for name in missing)
                fix = "an input with that group alone, x: T[*A]; or dim: axis(D), for the axis between two groups"
                self.tokens.fail(f"the inputs that are always given can't tell how many axes {listed} are", fix, place)

    def _given(self) -> list[TensorParam]:
        return [tensor for tensor in self.signature.tensors if not tensor.optional]


def _chooses(param: Param) -> bool:
    return isinstance(param, ScalarParam) and isinstance(param.kind, AxisKind)


def _groups(tensor: TensorParam) -> list[str]:
    return [dim.name for dim in tensor.dims if isinstance(dim, Group)]
