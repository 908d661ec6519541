"""Rules for signatures beyond the grammar; each error points at the position that breaks the rule."""

from __future__ import annotations

from opwright.closest_name import closest_name
from opwright.signature.dtypes import DType
from opwright.signature.expr import DataAxis, Expr, determined
from opwright.signature.grammar.data_axes import check_data_axes
from opwright.signature.grammar.domains import check_domains
from opwright.signature.grammar.groups import check_chosen, check_groups
from opwright.signature.grammar.independent import check_independent
from opwright.signature.grammar.parsed import Parsed, SourcePositions
from opwright.signature.grammar.results import check_results, check_returns
from opwright.signature.grammar.tensor_list_rules import check_lists
from opwright.signature.grammar.tokens import Tokens, check_parameter_name
from opwright.signature.model import ELLIPSIS, Signature
from opwright.signature.parameters import GeneratorParam, Param, ScalarParam, TensorParam


def check(signature: Signature, positions: SourcePositions, tokens: Tokens) -> None:
    """Raise :class:`NotationError` if the signature contradicts itself."""
    parsed = Parsed(signature, positions, tokens)
    rules = _Rules(parsed)
    rules.names()
    rules.inputs()
    rules.forms()
    check_results(parsed)
    check_returns(parsed)
    rules.axis_names()
    check_data_axes(parsed)
    check_lists(parsed)
    rules.named_sizes()
    check_chosen(parsed)
    rules.type_variables()
    check_groups(parsed)
    check_domains(parsed)
    rules.launch()
    rules.flops()
    check_independent(parsed)
    if not signature.is_backward:  # a backward also sees its forward's axes, types and leading shape
        rules.bound_in_inputs()
        rules.bound_in_results()


class _Rules:
    def __init__(self, parsed: Parsed) -> None:
        self.parsed, self.signature, self.positions = parsed, parsed.signature, parsed.positions
        self.tokens, self.fail = parsed.tokens, parsed.tokens.fail

    def names(self) -> None:
        """Fail if two parameters have one name, or a name has a meaning of its own."""
        backward, inputs = self.signature.is_backward, len(self.signature.inputs)
        seen: dict[str, int] = {}
        for index, (param, place) in enumerate(self.parsed.params):
            name = param.name
            check_parameter_name(self.tokens, name, place, backward=backward)
            # of a double backward, an input and an output may both have the name grad_y
            shared = backward and name.startswith("grad_") and seen.get(name, inputs) < inputs <= index
            if name in seen and not shared:
                self.fail(f"two parameters have the name {name!r}", "rename one", place)
            seen[name] = index
        if backward:
            self.gradients()

    def gradients(self) -> None:
        """Fail if a parameter is called a gradient and can be none."""
        scalars = {scalar.name for scalar in self.signature.scalars}
        for param, place in self.parsed.params:
            if not param.name.startswith("grad_"):
                continue
            if not isinstance(param, TensorParam):
                self.fail(f"{param.name!r}: a gradient is a tensor", f"{param.name}: T[...]", place)
            source = param.name.removeprefix("grad_")
            if source in scalars:
                self.fail(f"{param.name!r}: a scalar has no gradient", f"make {source!r} a 0-dim tensor: T[]", place)

    def inputs(self) -> None:
        """Check the order of defaults, and that there is one generator at most."""
        earlier = ""
        for param, place in self.parsed.params[: len(self.signature.inputs)]:
            if isinstance(param, ScalarParam) and param.default is not None:
                earlier = param.name
            elif earlier and not (isinstance(param, GeneratorParam) or _has_default(param)):
                self.fail(
                    f"{param.name!r} has no default but follows {earlier!r}, which has one",
                    f"write {earlier!r} after {param.name!r}",
                    place,
                )
        generators = [place for param, place in self.parsed.params if isinstance(param, GeneratorParam)]
        if len(generators) > 1:
            self.fail("an operator takes one generator", "raise the number of draws of the first", generators[1])
        if self.signature.is_factory:
            self.factory()

    def factory(self) -> None:
        """Check an operator without input tensors, which takes ``device=`` and ``dtype=`` instead."""
        signature = self.signature
        if signature.is_backward or not signature.results:
            self.fail("no input is a tensor, so there is nothing to work on", "x: T[N]", 0)
        unknown = [name for name in signature.type_variables if name not in signature.bound_types]
        if len(unknown) > 1:
            variables = " and ".join(unknown)
            self.fail(f"no input is a tensor, and dtype= can't choose {variables} at once", "a concrete type: f32", 0)
        if signature.pointwise or signature.batched:
            self.fail("no input is a tensor, so nothing has a shape to broadcast", "y: T[n], after n: int", 0)
        implied = ["dtype"] * bool(signature.chosen_type) + ["device"] * (not signature.device)
        for param, place in self.parsed.params:
            if param.name in implied:
                self.fail(f"an operator without input tensors has a {param.name!r} of its own", "rename it", place)

    def forms(self) -> None:
        """Check that bare types, brackets, ``...`` and ``batched`` are combined correctly."""
        signature = self.signature
        tensors = [(tensor, place) for tensor, place in self.parsed.tensors if not tensor.is_count]
        for tensor, place in tensors:
            if (tensor.shape is None) != (tensors[0][0].shape is None):
                self.bool_result(tensor, place)
                self.fail(
                    "bare element types (a pointwise operator) and brackets don't mix",
                    "brackets everywhere (T[] is a 0-dim tensor), or nowhere",
                    place,
                )
        if signature.derived and signature.pointwise:
            place = self.positions.modifiers["derived"]
            self.fail("derivatives of a pointwise operator are derived without a word", "leave out 'derived'", place)
        if not signature.batched:
            return
        place = self.positions.modifiers["batched"]
        if signature.pointwise:
            self.fail("a pointwise operator broadcasts already", "leave out 'batched'", place)
        if signature.has_ellipsis:
            self.fail("'batched' brings the leading axes itself", "leave out the '...'", place)
        if signature.data_axes:
            self.fail(f"?{signature.data_axes[0]} could differ along the leading axes", "leave out 'batched'", place)

    def bool_result(self, tensor: TensorParam, place: int) -> None:
        """Fail if a bare type beside brackets is a bool among the results, which was meant for a Python bool."""
        if tensor.shape is None and tensor.type.name == "bool" and tensor in self.signature.outputs:
            self.fail(
                f"{tensor.name!r} is one bool, and outputs are tensors or counts (int): torch.compile would keep the "
                "bool that one call returned",
                f"a 0-dim tensor: {tensor.name}: bool[]",
                place,
            )

    def axis_names(self) -> None:
        """Check the names in shapes."""
        sizes = set(self.signature.ints)
        params = {param.name for param, _ in self.parsed.params} - sizes
        for tensor, start in self.parsed.tensors:
            for dim, place in zip(tensor.dims, self.positions.axes[start], strict=True):
                for name in [dim.name] if isinstance(dim, DataAxis) else dim.names():
                    self.axis_name(name, params, place)

    def axis_name(self, name: str, params: set[str], place: int) -> None:
        """Fail if the axis `name` is one of the parameters `params`, or a scalar that is no size."""
        of = next((s for s in self.signature.scalars if s.name == name.partition("[")[0]), None)
        of_forward = self.signature.is_backward and of is None  # wiring.py checks it
        if "[" in name and name not in self.signature.ints and not of_forward:
            elements = ", ".join(of.size_names) if of else ""
            what = f"{of.name!r} is {of.kind.article}" if of else "there is no such list"
            fix = f"one of {elements}" if elements else "a list of ints of a fixed length: list[int, 2]"
            self.fail(f"{name!r} is no element of a list of ints: {what}", fix, place)
        if name in params:
            self.fail(
                f"the axis {name!r} has the name of a parameter that is no int; sizes come from the axes of inputs",
                f"rename the axis, as {name.upper()}" if name != name.upper() else "rename one",
                place,
            )
        if name == "ellipsis":
            self.fail("no axis can have the name 'ellipsis': Opwright's own schemas use it", "rename it", place)
        if name in self.signature.type_variables:
            self.fail(f"the axis {name!r} has the name of a type variable", "rename one", place)

    def named_sizes(self) -> None:
        """Check that each named size is computed from axes, ints and named sizes before it."""
        signature, params = self.signature, {param.name for param, _ in self.parsed.params}
        for index, size in enumerate(signature.named_sizes):
            name, place = size.name, self.positions.named_sizes[size.name]
            if signature.pointwise:
                self.fail("a pointwise operator has no axes, so no sizes to name", f"leave out {size}", place)
            if name in params:
                self.fail(f"the size {name!r} has the name of a parameter", "rename one", place)
            for each in (name, *size.expr.names()):
                self.axis_name(each, params - set(signature.ints), place)
            later = {other.name for other in signature.named_sizes[index:]}
            if unknown := [each for each in size.expr.names() if each in later]:
                what = "from itself" if unknown[0] == name else f"from {unknown[0]!r}, which stands after it"
                fix = f"write {unknown[0]} first" if unknown[0] != name else "axes, ints, and named sizes before it"
                self.fail(f"the size {name!r} is computed {what}", fix, place)
            if not signature.is_backward:  # a backward also sees its forward's axes
                self.known(size.expr, frozenset(signature.bound_by_required), place)

    def type_variables(self) -> None:
        """Check that each type variable is used, and told by an input."""
        signature = self.signature
        for variable, place in self.positions.variables.items():
            if variable not in signature.type_variables:
                used = ", ".join(signature.type_variables) or "none"
                self.fail(f"no tensor has the element type {variable}; the type variables are: {used}", None, place)
        for tensor, place in self.parsed.tensors:
            variable = tensor.type.name
            if signature.pointwise and tensor.type.kind != "dtype" and DType.F4X2 in signature.allowed(variable):
                self.fail(
                    f"{tensor.name!r} may be f4x2, but a pointwise operator computes with one number of each tensor",
                    f"other types for {variable}, or brackets: {tensor.name}: {variable}[N]",
                    self.positions.types[place],
                )
            known = tensor.type.kind == "dtype" or signature.is_backward or signature.is_factory
            known = known or tensor.type.name in signature.bound_types
            own = tensor.optional and tensor.type.kind == "var" and tensor.condition is None
            if not (known or own):
                combined = any(variable in each.variables for each in signature.combinations)
                has = "determines" if combined else "has"
                self.fail(
                    f"{tensor.name!r}: no input that is always given {has} the element type {variable}",
                    f"x: {variable}[...] among the inputs, or a concrete type",
                    self.positions.types[place],
                )

    def launch(self) -> None:
        """Check that a launch uses only values known before the kernel runs: axes, ints, the elements of ``...``."""
        signature = self.signature
        if signature.launch is None:
            return
        place = self.positions.modifiers["launch"]
        if signature.pointwise:
            self.fail("a pointwise operator is launched by Opwright", "leave out the launch", place)
        if signature.data_axes:
            self.fail(
                f"a kernel on the device can't decide ?{signature.data_axes[0]}: it asks the host for memory",
                "write the function that launches the kernel, and put the signature before that",
                place,
            )
        known = {*signature.axes, *signature.ints} | ({ELLIPSIS} if signature.bound_ellipsis else set())
        for expr, at in zip(signature.launch.exprs, self.positions.launched, strict=True):
            self.counted(expr, known, "a launch can't be over", at)

    def flops(self) -> None:
        """Check that ``flops:`` uses only values that each call knows; a backward knows its forward's axes."""
        signature = self.signature
        if signature.flops is None:
            return
        known = {*(signature.axes if signature.is_backward else signature.bound_by_required), *signature.ints}
        leads = signature.broadcasts or signature.bound_ellipsis
        leads = leads or (signature.is_backward and signature.has_ellipsis)
        known |= {ELLIPSIS} if leads else set()
        self.counted(signature.flops, known, "flops can't count", self.positions.flops)

    def counted(self, expr: Expr, known: set[str], what: str, place: int) -> None:
        """Fail if an expression uses a name that isn't among the `known`."""
        if unknown := [name for name in expr.names() if name not in known]:
            listed = ", ".join(sorted(known)) or "none"
            self.fail(f"{what} {unknown[0]}: the axes and ints are: {listed}", None, place)

    def bound_in_inputs(self) -> None:
        """Check that each input's axes are determined by the required inputs and the input itself."""
        required = self.signature.bound_by_required
        for tensor, place in list(self.parsed.tensors)[: len(self.signature.tensors)]:
            exprs = tensor.shape.exprs if tensor.shape else ()
            known = determined(exprs, required, self.signature.named_sizes)
            for expr, at in zip(exprs, self.positions.axes[place], strict=True):
                self.solvable(expr, known, at)
            for expr in tensor.domain.exprs if tensor.domain else ():
                self.known(expr, known | self.signature.optional_sizes.keys(), place)
        for param, place in self.parsed.params:
            if isinstance(param, GeneratorParam):
                self.known(param.draws, frozenset(required), place)

    def solvable(self, expr: Expr, known: frozenset[str], place: int) -> None:
        """Fail if an expression has an axis that isn't `known`: nothing tells it."""
        unknown = [axis for axis in dict.fromkeys(expr.names()) if axis not in known]
        if unknown:
            how = "; '//' is never inverted" if "//" in str(expr) else ""
            self.fail(
                f"the inputs that are always given can't tell {' and '.join(unknown)} in {expr}{how}",
                f"an input with the axis {unknown[0]}: T[{unknown[0]}]",
                place,
            )

    def bound_in_results(self) -> None:
        """Check that the axes and types of results are known."""
        for tensor, place in self.parsed.results:
            known = self.known_with(tensor)
            if tensor.has_ellipsis and not self.signature.bound_ellipsis:
                self.fail(f"{tensor.name!r} has '...', but no input that is always given has", "x: T[...]", place)
            for dim, at in zip(tensor.dims, self.positions.axes[place], strict=True):
                expr = dim if isinstance(dim, Expr) else dim.limit
                if expr is not None:
                    self.known(expr, known, at, _AXIS_OF_RESULT)

    def known_with(self, result: TensorParam) -> frozenset[str]:
        """Return the axes that are known where a result is returned: its condition may be that an input is given."""
        required, of = frozenset(self.signature.bound_by_required), result.condition
        given = [t for t in self.signature.tensors if of and not of.negated and t.name == of.name and t.shape]
        exprs = [expr for tensor in given if tensor.shape for expr in tensor.shape.exprs]
        return required | determined(exprs, required, self.signature.named_sizes) if exprs else required

    def known(self, expr: Expr, known: frozenset[str], place: int, fix: str = "give an input the axis {axis}") -> None:
        """Fail at the first axis of an expression that isn't `known`."""
        for axis in expr.names():
            if axis not in known:
                optional = any(axis in e.axes for t in self.signature.tensors if t.shape for e in t.shape.exprs)
                why = "is bound by an optional input only" if optional else "isn't bound by any input"
                similar = None if optional else closest_name(axis, known)
                guess = f"did you mean {similar}? If not, " if similar else ""
                self.fail(f"the axis {axis!r} {why}", guess + fix.format(axis=axis), place)


_AXIS_OF_RESULT = "give an input the axis {axis}; where {axis} = ..., if others tell it; ?{axis}, if the kernel decides"


def _has_default(param: Param) -> bool:
    if isinstance(param, TensorParam):
        return param.optional
    return isinstance(param, ScalarParam) and param.has_default
