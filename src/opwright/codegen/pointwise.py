"""Generated code of pointwise kernels: the computation of one element, on any device, and the CPU's loop around it.

The computation of an element is the author's function or a derivative of it. For the CPU it is put in a loop over
blocks of elements, for CUDA in a kernel (:mod:`opwright.codegen.pointwise_cuda`). Derivatives compute with real
numbers: a complex element is two of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from string import Template
from typing import TYPE_CHECKING

from opwright.codegen.choices import GENERATED, converted, specializations
from opwright.signature import DType, ScalarParam, Signature, TensorParam, TypeRef
from opwright.signature.derivatives import active
from opwright.signature.model import OLD
from opwright.signature.scalar_kinds.choices import Choice
from opwright.sources import Argument
from opwright.sources.matching import match
from opwright.sources.matching.by_position import returns_result, variables_by_parameter
from opwright.sources.matching.scalars import template_scalars
from opwright.toolchain import header_dir, line_directive

if TYPE_CHECKING:
    from opwright.codegen.library import Instance

_CONTEXT = Template("""\
struct opwright_context_$index {
$members
};
""")
_BODY = Template("""\
struct opwright_body_$index {
  static constexpr int in = $given, out = $results;
  template <class S>
  static OPWRIGHT_INLINE void run(opwright_context_$index &c, const S *x, S *y) {
$statements
  }
};
""")

_RULES = {"vjp": "opwright::detail::Vjp", "jvp": "opwright::detail::Jvp"}
Scalar = Callable[[Argument], str]


class Element:
    """The C++ that computes one element of a pointwise instance; element `i` of operand number P is ``tP[i]``.

    The operands are those of the instance's signature: the kernel's own, with old values, or a derivative's.
    """

    def __init__(self, instance: Instance, index: int) -> None:
        """Prepare the code of an instance, whose names end with `index`, a number that is unique in the library."""
        self.kernel, self.signature, self.types = instance.kernel, instance.signature, instance.types
        self.derived, self.wanted, self.dual, self.index = instance.derived, instance.wanted, instance.dual, index

    def context(self) -> str:
        """Return the C++ struct of values shared by all elements and, for a derivative, the function's body."""
        context = _CONTEXT.substitute(index=self.index, members="\n".join(self._members()))
        return f"{context}{self._body() if self.derived else ''}"

    @property
    def _own(self) -> Signature:
        return self.kernel.signature

    def _place(self, tensor: TensorParam) -> int:
        """Return a tensor's index in the call, in which results follow inputs; the two can share a name."""
        if any(tensor is other for other in self.signature.tensors):
            return self.signature.tensors.index(tensor)
        return len(self.signature.tensors) + next(i for i, t in enumerate(self.signature.results) if t is tensor)

    def _operands(self) -> list[tuple[TensorParam, str]]:
        inputs = [(t, "overwrites" if t.mutated else "reads") for t in self.signature.tensors]
        return inputs + [(t, "writes") for t in self._results()]

    def _listed(self) -> str:
        """Return the operands as elements of a C++ array initializer."""
        return ", ".join(
            f"{{{self._place(t)}, opwright::detail::{access}, sizeof({self._stored(t)})}}"
            for t, access in self._operands()
        )

    def _results(self) -> list[TensorParam]:
        results = self.signature.results
        return [t for i, t in enumerate(results) if not self.wanted or self.wanted >> i & 1]

    def _stored(self, tensor: TensorParam) -> str:
        return tensor.type.resolve(self.types).ctype

    def _pointer(self, tensor: TensorParam) -> str:
        return f"t{self._place(tensor)}"

    def _memory(self, tensor: TensorParam) -> str:
        """Return the C++ type in memory; ``bool`` is read as a byte, since gcc doesn't vectorize loops that read it."""
        stored = self._stored(tensor)
        return "unsigned char" if stored == "bool" else stored

    def _load(self, tensor: TensorParam) -> str:
        """Return the element as a number to compute with: float16 and bfloat16 as float."""
        element = f"{self._pointer(tensor)}[i]"
        dtype = tensor.type.resolve(self.types)
        if dtype is DType.BOOL:
            return f"({element} != 0)"
        return element if dtype.accumulate is dtype or tensor.type.kind == "dtype" else f"float({element})"

    def _members(self) -> Iterator[str]:
        """Yield the struct's members: scalars, and a flag for each optional input (present or not).

        For derivatives, also the elements of the inputs that aren't differentiated.
        """
        kinds = {scalar.name: scalar.kind for scalar in self.signature.scalars}
        for argument in self._scalars():
            written = kinds[argument.name].cpp_type(argument.parameter.element)
            yield f"  {written or 'int64_t'} v_{argument.name};"
        for scalar in self._template_scalars():
            yield f"  int64_t v_{scalar.name};"
        for tensor in self._optional():
            yield f"  bool has_{tensor.name};"
        for tensor in self._passive() if self.derived else ():
            yield f"  {self._stored(tensor)} v_{tensor.name};"

    def _values(self, scalar: Scalar) -> Iterator[str]:
        kinds = {scalar.name: scalar.kind for scalar in self.signature.scalars}
        numbers = [name for name, kind in kinds.items() if isinstance(kind, Choice)]
        for argument in self._scalars():
            yield self._number_of(argument.name) if argument.name in numbers else scalar(argument)
        yield from (self._number_of(scalar.name) for scalar in self._template_scalars())
        tensors = self.signature.tensors
        for tensor in self._optional():
            place = next(i for i, t in enumerate(tensors) if t.name == self._operand_of(tensor).name)
            yield f"a.call->tensors[{place}].present != 0"

    def _scalars(self) -> list[Argument]:
        return [argument for argument in match(self.kernel) if argument.role == "scalar"]

    def _template_scalars(self) -> list[ScalarParam]:
        """Return the scalars over which the function is a template."""
        return list(template_scalars(self.kernel).values())

    def _number_of(self, name: str) -> str:
        return f"a.call->scalars[{self.signature.slot(name)}].i"

    def _optional(self) -> list[TensorParam]:
        return [tensor for tensor in self._own.tensors if tensor.optional]

    def _passive(self) -> list[TensorParam]:
        """Return the function's inputs that aren't differentiated."""
        differentiated = active(self._own, self._own.tensors)
        return [tensor for tensor in self._own.tensors if tensor not in differentiated]

    def _operand_of(self, tensor: TensorParam) -> TensorParam:
        """Return the operand from which an input of the function is read."""
        names = (OLD + tensor.name, tensor.name) if tensor.mutated else (tensor.name,)
        return next(t for name in names for t in self.signature.tensors if t.name == name)

    def _element(self) -> Iterator[str]:
        """Yield the statements for element i."""
        yield from self._derivative() if self.derived else self._direct()

    def _direct(self) -> Iterator[str]:
        """Yield the call of the function itself, and the stores of its results."""
        numbers = {v: self._number(dtype) for v, dtype in self.types.items()}
        yield from self._call(numbers, self._load)
        for tensor in self.signature.written:
            if any(tensor is result for result in self._own.results) or tensor.mutated:
                value = f"x_{tensor.name}" if tensor.mutated else f"y_{tensor.name}"
                computes = tensor.type.kind != "dtype"
                yield f"    {self._pointer(tensor)}[i] = {self._rounded(tensor, value) if computes else value};"

    def _number(self, dtype: DType) -> str:
        """Return the C++ type in which elements of a type variable are computed.

        If the function has derivatives, this is a dual number without derivative parts, so that the compiler reports
        functions that dual numbers lack here, too. But dual numbers of different types can't be mixed, unlike float and
        double: with several floating-point types, plain numbers are used, and only the derivatives report such errors.
        """
        parts = {other.part.accumulate for other in self.types.values() if other.is_floating or other.is_complex}
        part = dtype.part.accumulate
        if not self.dual or len(parts) > 1 or part not in parts:
            return dtype.accumulate.ctype
        number = f"opwright::Dual<{part.ctype}, 0>"
        return f"opwright::Complex<{number}>" if dtype.is_complex else number

    def _rounded(self, tensor: TensorParam, value: str) -> str:
        dtype = tensor.type.resolve(self.types)
        plain = f"opwright::value_of({value})" if dtype.is_floating or dtype.is_complex else value
        return f"static_cast<{self._stored(tensor)}>({plain})"

    def _call(self, numbers: Mapping[str, str], value: Callable[[TensorParam], str]) -> Iterator[str]:
        """Yield the call of the function, with a variable for each of its tensors: x_ for inputs, y_ for results.

        Args:
            numbers: the C++ type of each type variable.
            value: returns the expression of an input.
        """
        own = self._own
        for tensor in own.tensors:
            type_ = _element_type(tensor.type, numbers)
            yield f"    {'' if tensor.mutated else 'const '}{type_} x_{tensor.name} = {type_}({value(tensor)});"
        for tensor in self._olds():
            of = tensor.name.removeprefix(OLD)
            yield f"    {self._pointer(tensor)}[i] = {self._rounded(tensor, f'x_{of}')};"
        for tensor in own.results:
            yield f"    {_element_type(tensor.type, numbers)} y_{tensor.name}{{}};"  # so that `y += ...` is defined
        types = {name: numbers[variable] for name, variable in variables_by_parameter(self.kernel).items()}
        arguments = ", ".join(self._word(argument, numbers) for argument in match(self.kernel))
        result = f"y_{own.results[0].name} = " if returns_result(self.kernel) else ""
        for condition, values in specializations(self.kernel, lambda scalar: f"c.v_{scalar.name}"):
            templates = ", ".join({**types, **values}[parameter] for parameter in self.kernel.function.template)
            call = f"{result}::{self.kernel.function.name}{f'<{templates}>' if templates else ''}({arguments});"
            yield f"    {f'if ({condition}) ' if condition else ''}{call}"

    def _olds(self) -> list[TensorParam]:
        """Return the residuals that keep the old values of overwritten tensors."""
        return [] if self.derived else list(self.signature.residuals[len(self._own.residuals) :])

    def _word(self, argument: Argument, numbers: Mapping[str, str]) -> str:
        if argument.role == "scalar":
            kind = next(scalar.kind for scalar in self._own.scalars if scalar.name == argument.name)
            value = f"c.v_{argument.name}"
            return converted(kind, value) if isinstance(kind, Choice) else value
        if argument.role != "input":
            return f"y_{argument.name}"
        tensor = next(t for t in self._own.tensors if t.name == argument.name)
        if tensor.optional:
            return f"opwright::Optional<{_element_type(tensor.type, numbers)}>{{x_{tensor.name}, c.has_{tensor.name}}}"
        return f"x_{tensor.name}"

    def _body(self) -> str:
        """Return the function in the form that derivatives use: from an array of numbers to an array of numbers."""
        own = self._own
        inputs, written = active(own, own.tensors), self._written()
        numbers = {v: _differentiated(d) for v, d in self.types.items()}
        numbers |= {v: "S" for v in own.type_variables if v not in numbers}
        places = self._places(inputs)

        def value(tensor: TensorParam) -> str:
            if tensor not in inputs:
                return f"c.v_{tensor.name}"
            first = places[inputs.index(tensor)]
            return f"x[{first}], x[{first + 1}]" if self._is_complex(tensor) else f"x[{first}]"

        lines = list(self._call(numbers, value))
        targets = self._places(self._kept_written())
        for tensor, first, expression in zip(self._kept_written(), targets, written, strict=False):
            if self._is_complex(tensor):
                lines.append(f"    y[{first}] = {expression}.re, y[{first + 1}] = {expression}.im;")
            else:
                lines.append(f"    y[{first}] = {expression};")
        return _BODY.substitute(index=self.index, given=places[-1], results=targets[-1], statements="\n".join(lines))

    def _is_complex(self, tensor: TensorParam) -> bool:
        return tensor.type.resolve(self.types).is_complex

    def _places(self, tensors: Sequence[TensorParam]) -> list[int]:
        """Return where each tensor's numbers begin, and the number of them all: a complex one is two real numbers."""
        return list(itertools.accumulate((1 + self._is_complex(t) for t in tensors), initial=0))

    def _written(self) -> list[str]:
        """Return the expressions of the function's results, in the order of the first derivative's gradients."""
        return [self._written_value(tensor) for tensor in self._kept_written()]

    def _kept_written(self) -> tuple[TensorParam, ...]:
        assert self.derived is not None  # noqa: S101 - called for derivatives only
        return active(self.derived.body, self.derived.body.written)

    def _written_value(self, tensor: TensorParam) -> str:
        own = self._own
        if tensor.mutated:
            return f"x_{tensor.name}"
        if any(tensor.name == result.name for result in own.results):
            return f"y_{tensor.name}"
        inputs = active(own, own.tensors)
        index = [t.name for t in inputs].index(tensor.name.removeprefix(OLD))
        first = self._places(inputs)[index]
        if self._is_complex(inputs[index]):
            return f"opwright::Complex<S>(x[{first}], x[{first + 1}])"
        return f"x[{first}]"

    def _derivative(self) -> Iterator[str]:
        """Yield the call of the differentiation rules on the function's body."""
        number = self._widest()
        inputs, results = active(self.signature, self.signature.tensors), self._results()
        for tensor in self._passive():
            element = f"{self._pointer(self._operand_of(tensor))}[i]"
            yield f"    c.v_{tensor.name} = {element}{' != 0' * (self._stored(tensor) == 'bool')};"
        loads = (part for tensor in inputs for part in self._parts(tensor))
        yield f"    const {number} in[] = {{{', '.join(f'{number}({part})' for part in loads)}}};"
        places = self._places(results)
        yield f"    {number} out[{places[-1]}];"
        yield f"    {self._rule()}::run(c, in, out);"
        for first, tensor in zip(places, results, strict=False):
            stored = self._stored(tensor)
            value = f"static_cast<{stored}>(out[{first}])"
            if self._is_complex(tensor):
                value = f"{stored}(out[{first}], out[{first + 1}])"
            yield f"    {self._pointer(tensor)}[i] = {value};"

    def _parts(self, tensor: TensorParam) -> tuple[str, ...]:
        """Return the element of an operand as real numbers: for a complex one, both parts."""
        element = self._load(tensor)
        return (f"{element}.re", f"{element}.im") if self._is_complex(tensor) else (element,)

    def _widest(self) -> str:
        numbers = [dtype.part.accumulate for dtype in self.types.values() if dtype.is_floating or dtype.is_complex]
        return max(numbers, key=lambda dtype: dtype.itemsize).ctype

    def _rule(self) -> str:
        """Return the C++ class of the rules, nested from the body outwards; only the outermost takes the mask."""
        assert self.derived is not None  # noqa: S101 - called for derivatives only
        body, rules = f"opwright_body_{self.index}", list(self.derived.rules)
        mask = f", {hex(self._mask(self.wanted, self.signature.results))}ull" if self.wanted else ""
        if rules == ["vjp", "vjp"]:
            return f"opwright::detail::SecondVjp<{body}{mask}>"
        for depth, rule in enumerate(rules):
            outermost = depth == len(rules) - 1
            chosen = self._kept_results() if (rule, depth) == ("jvp", 0) else mask if outermost else ""
            body = f"{_RULES[rule]}<{body}{chosen}>"
        return body

    def _kept_results(self) -> str:
        """Return the mask of the function's results that have a tangent: all except residuals."""
        assert self.derived is not None  # noqa: S101 - called for derivatives only
        residuals = [tensor.name for tensor in self.derived.body.residuals]
        written = self._kept_written()
        kept = sum(1 << o for o, tensor in enumerate(written) if tensor.name not in residuals)
        return f", {hex(self._mask(kept, written))}ull"

    def _mask(self, tensors: int, among: Sequence[TensorParam]) -> int:
        """Return the bits of the real numbers of those tensors whose bits are set in `tensors`."""
        places = self._places(among)
        bits = (k for i in range(len(among)) if tensors >> i & 1 for k in range(places[i], places[i + 1]))
        return sum(1 << k for k in bits)


def _differentiated(dtype: DType) -> str:
    """Return the C++ type in which elements of a type variable are differentiated; S is any real number."""
    if dtype.is_complex:
        return "opwright::Complex<S>"
    return "S" if dtype.is_floating else dtype.ctype


def _element_type(type_ref: TypeRef, numbers: Mapping[str, str]) -> str:
    if type_ref.kind == "dtype":
        return type_ref.resolve({}).ctype
    number = numbers[type_ref.name]
    return f"opwright::acc<{number}>" if type_ref.kind == "acc" else number


_BLOCK = Template("""\
__attribute__((flatten)) void opwright_block_$index(char *const *p, int64_t n, const void *context) {
  opwright_context_$index c = *static_cast<const opwright_context_$index *>(context);
$pointers
$loop
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
$statements
  }
$after
}
""")
_STATEMENT = Template("""\
static const opwright::detail::Operand operands[] = {$operands};
    const opwright_context_$index context{$values};
    opwright::detail::pointwise(a.call, operands, $count, &opwright_block_$index, &context);""")

LOOPS = header_dir() / "opwright" / "loops"
"""The file name in ``#line`` directives for the loops of pointwise kernels; no such file exists."""


def loop_line(index: int) -> int:
    """Return the line of :data:`LOOPS` at which the loop of kernel number `index` of a library begins."""
    return 1000 * (index + 1)


class Loop(Element):
    """The CPU loop of one instance."""

    def definitions(self) -> str:
        """Return the definitions before the entry."""
        block = _BLOCK.substitute(
            index=self.index,
            pointers="\n".join(self._pointers()),
            loop=line_directive(LOOPS, loop_line(self.index) - 1),
            statements="\n".join(self._element()),
            after=line_directive(GENERATED),
        )
        return f"{self.context()}{block}"

    def statement(self, scalar: Scalar) -> str:
        """Return the entry's statement on the call `a`; `scalar` returns the expression of a scalar argument."""
        values = ", ".join(self._values(scalar))
        return _STATEMENT.substitute(
            operands=self._listed(), count=len(self._operands()), index=self.index, values=values
        )

    def _pointers(self) -> Iterator[str]:
        for i, (tensor, access) in enumerate(self._operands()):
            stored = self._memory(tensor)
            type_ = f"const {stored}" if access == "reads" else stored
            yield f"  {type_} *const {self._pointer(tensor)} = reinterpret_cast<{type_} *>(p[{i}]);"
