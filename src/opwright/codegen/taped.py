"""Generated code of derivatives by a tape: the author's kernel over views, on numbers that are traced.

``include/opwright/tape/taped.h`` does the work. What it needs to know stands here: for each tensor of the function,
those of the derivative's call that belong to it, and how the function is called. And the check, when a source is read,
that what its signatures ask for can be derived.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from string import Template
from typing import TYPE_CHECKING

from opwright.codegen.calls import expression
from opwright.codegen.choices import specializations
from opwright.errors import UnsupportedError
from opwright.signature import Expr, Signature, TensorParam
from opwright.signature.clauses.conditions import Condition
from opwright.signature.clauses.derived import tape_obstacle
from opwright.signature.clauses.independent import from_last
from opwright.signature.derivatives import TANGENT, Rule, active, obstacle
from opwright.signature.expr import DataAxis
from opwright.signature.model import ELLIPSIS, OLD
from opwright.signature.names import backward_of
from opwright.signature.wiring import GRAD
from opwright.sources import Argument, Kernel
from opwright.sources.matching.by_position import variables_by_parameter

if TYPE_CHECKING:
    from opwright.codegen.library import Instance

_BODY = Template("""\
struct opwright_body_$index {
  template <class T>
  static void run(const opw_call *call) {
    const opwright::detail::Arguments a{call};
    $calls
  }
  static void axes(const opw_call *call, int64_t *axes) {
    const opwright::detail::Arguments a{call};
    (void)a, (void)axes;$axes
  }
  static void shapes(const opw_call *call, opwright::detail::Shape *shapes) {
    const opwright::detail::Arguments a{call};
    (void)a, (void)shapes;$shapes
  }
};
""")
_STATEMENT = Template("""\
static const opwright::detail::Traced tensors[] = {
      $tensors};
    const opwright::detail::Function function{tensors, $count, $rng};
    $run""")
_WHOLE = Template("opwright::detail::derive<$number, $real, opwright_body_$index>(a.call, function, $arguments);")
_ROWS = Template("""\
static const unsigned char ranks[] = {$ranks};
    opwright::detail::derive_batched<$number, $real, opwright_body_$index>(a.call, function, ranks, $arguments);""")

_SLICES = Template("""\
static const unsigned char places[] = {$places}, named[] = {$named};
    opwright::detail::derive_slices<$number, $real, opwright_body_$index>(
        a.call, function, places, named, $axes, $names, $inputs, $arguments);""")

_SHAPE = Template("""
    shapes[$place].begin($leading);$sizes""")
_INTEGER = "int64_t"

_FIELDS: dict[tuple[Rule, ...], dict[str, str]] = {
    ("vjp",): {"seed": GRAD, "gradient": GRAD},
    ("jvp",): {"direction": TANGENT, "tangent": TANGENT},
    ("vjp", "vjp"): {"direction": GRAD + GRAD, "seed": GRAD, "second": GRAD, "tangent": GRAD + GRAD},
    ("vjp", "jvp"): {
        "direction": TANGENT,
        "seed": GRAD,
        "seed_direction": TANGENT + GRAD,
        "second": TANGENT + GRAD,
    },
    ("jvp", "vjp"): {"direction": TANGENT, "seed": GRAD + TANGENT, "gradient": GRAD + TANGENT, "second": GRAD},
}
"""For each derivative, the tensors of its call that belong to one of the function, by the prefix of their names."""

_OF_INPUTS = {"direction": True, "gradient": False, "second": False}  # whether it is an input of the derivative
_OF_RESULTS = {"seed": True, "seed_direction": True, "tangent": False}


_OF_SAVED = {(("vjp", "jvp"), "direction"), (("vjp", "vjp"), "second")}
"""Fields that belong to the value which a backward was given: to the old one of an overwritten tensor."""


class Taped:
    """The C++ of one derivative of a kernel over views."""

    def __init__(self, instance: Instance, index: int) -> None:
        """Prepare the code of an instance, whose names end with `index`, a number that is unique in the library."""
        assert instance.derived is not None  # noqa: S101 - called for derivatives only
        self.kernel, self.signature, self.types = instance.kernel, instance.signature, instance.types
        self.own, self.rules, self.index = instance.derived.body, instance.derived.rules, index
        self.sliced = instance.sliced
        self.active = (*active(self.own, self.own.tensors), *active(self.own, self.own.results))

    @property
    def traced(self) -> set[str]:
        """The type variables that the numbers which note what they are made of take the place of."""
        return {tensor.type.name for tensor in self.active}

    @property
    def larger(self) -> str:
        """How many times the numbers on the tape are larger than plain ones, in C++."""
        real = self._real()
        return f"int64_t(sizeof({self._number(real)}) / sizeof({real}))"

    def definitions(self, arguments: Sequence[Argument], word: Callable[[Argument], str]) -> str:
        """Return the definitions before the entry; `word` returns the expression of an argument of the call `a`."""
        values = ", ".join(word(argument) for argument in arguments)
        statements = [*keep_statements(self.own, self._element), *self._calls(values)]
        return _BODY.substitute(
            index=self.index, calls="\n    ".join(statements), axes=self._axes(), shapes=self._shapes()
        )

    def statement(self) -> str:
        """Return the entry's statement on the call `a`."""
        tensors = [*self.own.tensors, *self.own.results]
        every = self.signature.tensors + self.signature.results
        run = _ROWS if self.signature.batched else _SLICES if self.sliced else _WHOLE
        real = self._real()
        places = [from_last(tensor, axis) for tensor in every for axis in self.own.independent]
        return _STATEMENT.substitute(
            tensors=",\n      ".join(
                self._traced(tensor, i >= len(self.own.tensors)) for i, tensor in enumerate(tensors)
            ),
            count=len(tensors),
            rng=self._state(),
            run=run.substitute(
                number=self._number(real),
                real=real,
                index=self.index,
                arguments=len(every),
                ranks=", ".join(str(len(tensor.dims)) for tensor in every),
                places=", ".join(map(str, places)),
                named=", ".join(str(self.signature.axes.index(axis)) for axis in self.own.independent),
                axes=len(self.own.independent),
                names=len(self.signature.axes),
                inputs=len(self.signature.tensors),
            ),
        )

    def _element(self, tensor: TensorParam) -> str:
        """Return the type of a tensor's elements while the function runs on the type `T`."""
        return "T" if tensor in self.active else tensor.type.resolve(self.types).ctype

    def _state(self) -> int:
        """Return the index in the derivative's call of the generator's state; -1 without a generator."""
        names = [tensor.name for tensor in self.signature.tensors]
        return names.index(OLD + self.own.generator.name) if self.own.generator else -1

    def _real(self) -> str:
        """Return the plain C++ type that all numbers are computed in: the widest of those in the call."""
        found = [tensor.type.resolve(self.types).accumulate for tensor in self.active]
        return max(found, key=lambda dtype: dtype.itemsize).ctype

    def _number(self, real: str) -> str:
        if self.rules == ("jvp",):
            return f"opwright::Dual<{real}, 1>"
        below = real if self.rules == ("vjp",) else f"opwright::Dual<{real}, 1>"
        return f"opwright::Dual<{below}, opwright::taped>"

    def _calls(self, values: str) -> list[str]:
        types = {
            name: "T" if variable in self.traced else self.types[variable].ctype
            for name, variable in variables_by_parameter(self.kernel).items()
        }
        statements = []
        for condition, chosen in specializations(self.kernel, lambda s: f"call->scalars[{self.own.slot(s.name)}].i"):
            words = ", ".join({**types, **chosen}[parameter] for parameter in self.kernel.function.template)
            launched = f"opwright_launch_{self.index}<{words}>(a);"
            call = launched if self.kernel.signature.launch else f"::{self.kernel.function.name}<{words}>({values});"
            statements.append(f"if ({condition}) {call}" if condition else call)
        return statements

    def _axes(self) -> str:
        """Return the statements that give the function's own axes their sizes."""
        known = _ints(self.signature)
        lines = []
        for i, axis in enumerate(self.own.axes):
            if axis in self.signature.axes:
                value = f"call->axes[{self.signature.axes.index(axis)}]"
            elif axis in self.own.computed:
                value = expression(self.own.computed[axis], self.signature, known, _INTEGER)
            else:
                value = "0"
            lines.append(f"\n    axes[{i}] = {value};")
        return "".join(lines)

    def _unshaped(self) -> list[TensorParam]:
        """Return the function's results whose sizes no tensor tells that every call of the derivative has."""
        return [result for result in self.own.results if self._untold(result)]

    def _untold(self, result: TensorParam) -> bool:
        decided = any(isinstance(dim, DataAxis) for dim in result.dims)
        kept = any(result.name == OLD + tensor.name for tensor in self.own.mutated)
        known = any(self._place(result, field) >= 0 for field in _OF_RESULTS)
        return decided or kept or result.condition is not None or not known

    def _shapes(self) -> str:
        known = _ints(self.own)
        lines = []
        for place, result in enumerate(self._unshaped()):
            leading = "0"
            if result.has_ellipsis:
                like = next(i for i, t in enumerate(self.own.tensors) if t.has_ellipsis and not t.optional)
                others = len(self.own.tensors[like].dims)
                leading = f"opwright::detail::leading_sizes(call->tensors[{like}], {others}, shapes[{place}].sizes)"
            if result.condition:
                leading += f", {self._holds(result.condition)}"
            sizes = "".join(f"\n    shapes[{place}].{self._size(dim, known)};" for dim in result.dims)
            lines.append(_SHAPE.substitute(place=place, leading=leading, sizes=sizes))
        return "".join(lines)

    def _size(self, dim: Expr | DataAxis, known: Mapping[str, str]) -> str:
        """Return the call that adds an axis to a shape; a length that the kernel decides is the bound before, or -1."""
        if isinstance(dim, Expr):
            return f"add({expression(dim, self.own, known, _INTEGER)})"
        before = "-1" if dim.limit is None else expression(dim.limit, self.own, known, _INTEGER)
        if dim.given:
            slot = self.own.slot(dim.given)
            before = f"call->scalars[{slot + 1}].i ? call->scalars[{slot}].i : -1"
        return f"add_decided({before})"

    def _holds(self, condition: Condition) -> str:
        """Return the C++ expression of whether a result is returned."""
        tensors = [tensor.name for tensor in self.own.tensors]
        if condition.name in tensors:
            met = f"call->tensors[{tensors.index(condition.name)}].present != 0"
        else:
            slot, value = self.own.decided_by(condition)
            met = f"call->scalars[{slot}].i == {value}"
        return f"!({met})" if condition.negated else met

    def _place(self, tensor: TensorParam, field: str) -> int:
        """Return the index in the derivative's call of the tensor in a field of ``Traced``; -1 if there is none."""
        prefix = _FIELDS[self.rules].get(field)
        if prefix is None or tensor not in self.active:
            return -1
        given = _OF_INPUTS.get(field, _OF_RESULTS.get(field, False))
        among = self.signature.tensors if given else self.signature.results
        names = [other.name for other in among]
        name = prefix + (self._saved(tensor) if (self.rules, field) in _OF_SAVED else tensor.name)
        if name not in names:
            return -1
        return names.index(name) + (0 if given else len(self.signature.tensors))

    def _saved(self, tensor: TensorParam) -> str:
        """Return the name under which the derivative's call has what an input held."""
        names = {other.name for other in self.signature.tensors}
        return OLD + tensor.name if tensor.mutated and OLD + tensor.name in names else tensor.name

    def _traced(self, tensor: TensorParam, result: bool) -> str:
        fields = {**_OF_RESULTS, **_OF_INPUTS} if tensor.mutated else _OF_RESULTS if result else _OF_INPUTS
        order = ("direction", "seed", "seed_direction", "gradient", "second", "tangent")
        places = [self._place(tensor, field) if field in fields else -1 for field in order]
        value = -1 if result else [other.name for other in self.signature.tensors].index(self._saved(tensor))
        unshaped = self._unshaped()
        shape = next((i for i, other in enumerate(unshaped) if other is tensor), -1) if result else -1
        flags = ["true" if flag else "false" for flag in (tensor in self.active, result, tensor.mutated)]
        dtype = tensor.type.resolve(self.types).code
        return f"{{{', '.join(map(str, [value, *places, *flags, shape, dtype]))}}}"


def keep_statements(signature: Signature, element: Callable[[TensorParam], str]) -> Iterator[str]:
    """Yield the statements that copy what is overwritten to the results that keep it.

    `element`: returns the C++ type of a tensor's elements.
    """
    names = [result.name for result in signature.results]
    for tensor in signature.mutated:
        if OLD + tensor.name in names:
            places = f"{signature.tensors.index(tensor)}, {len(signature.tensors) + names.index(OLD + tensor.name)}"
            yield f"opwright::detail::keep_old<{element(tensor)}>(a.call, {places});"


def _ints(signature: Signature) -> dict[str, str]:
    return {name: f"a.call->scalars[{signature.slot(name)}].i" for name in signature.ints} | {ELLIPSIS: "0"}


def check_derivable(
    kernel: Kernel, signature: Signature, written: Mapping[str, Signature], constants: Container[str] | None = None
) -> None:
    """Check a kernel whose signature, or whose forward's, says ``derived``, unless its backward is written.

    Args:
        kernel: the kernel.
        signature: its signature, which has taken over what its forward says.
        written: all handwritten signatures, by name.
        constants: as `KernelSource` has them.

    Raises:
        UnsupportedError: no gradient can be derived from it.
    """
    if not signature.derived or backward_of(signature.name) in written:
        return
    on_tape = kernel.language != "cuda" or constants is not None
    reason, fix = _of_function(kernel, signature, on_tape=on_tape) or tape_obstacle(signature, constants or ())
    reason = reason or obstacle(signature, constants or ())
    if reason:
        raise UnsupportedError(
            f"{kernel.path}:{kernel.line}: {signature.name}: its gradient can't be derived: {reason}\n"
            f"  signature:  {signature}\n"
            f"  likely fix: {fix or f'write {backward_of(signature.name)}'}"
        )


def _of_function(kernel: Kernel, signature: Signature, *, on_tape: bool) -> tuple[str, str] | None:
    """Return why the function can't run on numbers with derivatives, and what to write instead; None if it can."""
    by_hand = f"write {backward_of(signature.name)}"
    if not on_tape:
        what = "it is a CUDA kernel, and there is no tape on a device"
        return what, f"{by_hand}; opwright check compares that with a gradient that it derives under emulation"
    variables = ", ".join(f"class {name}" for name in signature.type_variables) or "class T"
    template = f"write it in C++ as a template: template <{variables}> void {kernel.function.name}(...); or {by_hand}"
    if kernel.language == "c":
        return "it is a C function, and a gradient comes from numbers of another type in the place of float", template
    if not variables_by_parameter(kernel):
        return "it isn't a template over its element type", template
    return None
