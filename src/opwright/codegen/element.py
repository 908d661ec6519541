"""Writes what pointwise kernels compute for one element, on any device: the author's function or a derivative of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from string import Template

from opwright.codegen.instance import Instance
from opwright.signature import DType, Signature, TensorParam, TypeRef
from opwright.signature.derive import active
from opwright.signature.model import OLD
from opwright.sources import Argument, match, template_variables
from opwright.sources.match_pointwise import returns_result

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


@dataclass(frozen=True)
class Element(Instance):
    """One element of a pointwise instance, computed in C++ that has element `i` of each operand at ``t<place>[i]``.

    The operands are those of its signature: the kernel's own, with old values, or a derivative's.

    Attributes:
        index: a number of its own within the library.
    """

    index: int = 0

    def context(self) -> str:
        """The C++ of what is the same for all elements and, for a derivative, of the function that it is made of."""
        context = _CONTEXT.substitute(index=self.index, members="\n".join(self._members()))
        return f"{context}{self._body() if self.derived else ''}"

    @property
    def _own(self) -> Signature:
        return self.kernel.signature

    def _place(self, tensor: TensorParam) -> int:
        """A tensor's place in the call: results come behind the inputs, one of which may have the same name."""
        if any(tensor is each for each in self.signature.tensors):
            return self.signature.tensors.index(tensor)
        return len(self.signature.tensors) + next(i for i, t in enumerate(self.signature.results) if t is tensor)

    def _operands(self) -> list[tuple[TensorParam, str]]:
        inputs = [(t, "overwrites" if t.mutated else "reads") for t in self.signature.tensors]
        return inputs + [(t, "writes") for t in self._results()]

    def _listed(self) -> str:
        """The operands, for the table that the loop's driver is given."""
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
        """The element type as it is read and written: gcc doesn't vectorise a loop that reads bools as such."""
        stored = self._stored(tensor)
        return "unsigned char" if stored == "bool" else stored

    def _load(self, tensor: TensorParam) -> str:
        """The element as a number that computes: halves as float."""
        element = f"{self._pointer(tensor)}[i]"
        dtype = tensor.type.resolve(self.types)
        if dtype is DType.BOOL:
            return f"({element} != 0)"
        return element if dtype.accumulate is dtype or tensor.type.kind == "dtype" else f"float({element})"

    def _members(self) -> Iterator[str]:
        """Scalars, which optional inputs there are; for derivatives also an element of what isn't differentiated."""
        for argument in self._scalars():
            yield f"  {argument.parameter.element} v_{argument.name};"
        for tensor in self._optional():
            yield f"  bool has_{tensor.name};"
        for tensor in self._passive() if self.derived else ():
            yield f"  {self._stored(tensor)} v_{tensor.name};"

    def _values(self, scalar: Scalar) -> Iterator[str]:
        yield from (scalar(argument) for argument in self._scalars())
        tensors = self.signature.tensors
        for tensor in self._optional():
            place = next(i for i, t in enumerate(tensors) if t.name == self._seen(tensor).name)
            yield f"a.call->tensors[{place}].present != 0"

    def _scalars(self) -> list[Argument]:
        return [argument for argument in match(self.kernel) if argument.role == "scalar"]

    def _optional(self) -> list[TensorParam]:
        return [tensor for tensor in self._own.tensors if tensor.optional]

    def _passive(self) -> list[TensorParam]:
        """The function's inputs that no derivative flows through."""
        differentiated = active(self._own, self._own.tensors)
        return [tensor for tensor in self._own.tensors if tensor not in differentiated]

    def _seen(self, tensor: TensorParam) -> TensorParam:
        """An input of the function as the operands' signature has it."""
        names = (OLD + tensor.name, tensor.name) if tensor.mutated else (tensor.name,)
        return next(t for name in names for t in self.signature.tensors if t.name == name)

    def _element(self) -> Iterator[str]:
        """The statements for element i."""
        yield from self._derivative() if self.derived else self._direct()

    def _direct(self) -> Iterator[str]:
        """The function itself, on the element types."""
        numbers = {v: self._number(dtype) for v, dtype in self.types.items()}
        yield from self._call(numbers, self._load)
        for tensor in self.signature.written:
            if any(tensor is each for each in self._own.results) or tensor.mutated:
                value = f"x_{tensor.name}" if tensor.mutated else f"y_{tensor.name}"
                computes = tensor.type.kind != "dtype"
                yield f"    {self._pointer(tensor)}[i] = {self._rounded(tensor, value) if computes else value};"

    def _number(self, dtype: DType) -> str:
        """The C++ type that a type variable's elements are computed in.

        Dual numbers of different types don't mix, as float and double do; there derivatives alone notice what lacks
        them.
        """
        plain = dtype.accumulate.ctype
        mixed = len({each.accumulate for each in self.types.values() if each.is_floating}) > 1
        return f"opwright::Dual<{plain}, 0>" if self.dual and dtype.is_floating and not mixed else plain

    def _rounded(self, tensor: TensorParam, value: str) -> str:
        floating = tensor.type.resolve(self.types).is_floating
        return f"static_cast<{self._stored(tensor)}>({f'opwright::value_of({value})' if floating else value})"

    def _call(self, numbers: Mapping[str, str], value: Callable[[TensorParam], str]) -> Iterator[str]:
        """The call of the function, with a variable for each of its tensors: x_ for inputs, y_ for results.

        Args:
            numbers: the C++ type of each type variable.
            value: the expression of an input.
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
        templates = ", ".join(numbers[variable] for variable in template_variables(self.kernel))
        words = ", ".join(self._word(argument, numbers) for argument in match(self.kernel))
        result = f"y_{own.results[0].name} = " if returns_result(self.kernel) else ""
        yield f"    {result}::{self.kernel.function.name}{f'<{templates}>' if templates else ''}({words});"

    def _olds(self) -> list[TensorParam]:
        """The residuals that keep what is overwritten."""
        return [] if self.derived else list(self.signature.residuals[len(self._own.residuals) :])

    def _word(self, argument: Argument, numbers: Mapping[str, str]) -> str:
        if argument.role == "scalar":
            return f"c.v_{argument.name}"
        if argument.role != "input":
            return f"y_{argument.name}"
        tensor = next(t for t in self._own.tensors if t.name == argument.name)
        if tensor.optional:
            return f"opwright::Optional<{_element_type(tensor.type, numbers)}>{{x_{tensor.name}, c.has_{tensor.name}}}"
        return f"x_{tensor.name}"

    def _body(self) -> str:
        """The function as what derivatives are made of: numbers in, numbers out."""
        own = self._own
        inputs, written = active(own, own.tensors), self._written()
        numbers = {v: "S" if d.is_floating else d.ctype for v, d in self.types.items()}
        numbers |= {v: "S" for v in own.type_variables if v not in numbers}
        lines = list(self._call(numbers, lambda t: f"x[{inputs.index(t)}]" if t in inputs else f"c.v_{t.name}"))
        lines += [f"    y[{o}] = {value};" for o, value in enumerate(written)]
        return _BODY.substitute(index=self.index, given=len(inputs), results=len(written), statements="\n".join(lines))

    def _written(self) -> list[str]:
        """What the function writes, in the order of the gradients that the first derivative takes."""
        return [self._written_value(tensor) for tensor in self._kept_written()]

    def _kept_written(self) -> tuple[TensorParam, ...]:
        assert self.derived is not None  # noqa: S101 - asked for derivatives alone
        return active(self.derived.body, self.derived.body.written)

    def _written_value(self, tensor: TensorParam) -> str:
        own = self._own
        if tensor.mutated:
            return f"x_{tensor.name}"
        if any(tensor.name == result.name for result in own.results):
            return f"y_{tensor.name}"
        return f"x[{[t.name for t in active(own, own.tensors)].index(tensor.name.removeprefix(OLD))}]"

    def _derivative(self) -> Iterator[str]:
        """The rules applied to the function's body."""
        number = self._widest()
        inputs, results = active(self.signature, self.signature.tensors), self._results()
        for tensor in self._passive():
            element = f"{self._pointer(self._seen(tensor))}[i]"
            yield f"    c.v_{tensor.name} = {element}{' != 0' * (self._stored(tensor) == 'bool')};"
        loads = ", ".join(f"{number}({self._load(tensor)})" for tensor in inputs)
        yield f"    const {number} in[] = {{{loads}}};"
        yield f"    {number} out[{len(results)}];"
        yield f"    {self._rule()}::run(c, in, out);"
        for k, tensor in enumerate(results):
            yield f"    {self._pointer(tensor)}[i] = static_cast<{self._stored(tensor)}>(out[{k}]);"

    def _widest(self) -> str:
        floating = [dtype.accumulate for dtype in self.types.values() if dtype.is_floating]
        return max(floating, key=lambda dtype: dtype.itemsize).ctype

    def _rule(self) -> str:
        """The class that computes it, from the body outwards; only what is outermost computes less than all."""
        assert self.derived is not None  # noqa: S101 - asked for derivatives alone
        body, rules = f"opwright_body_{self.index}", list(self.derived.rules)
        mask = f", {hex(self.wanted)}ull" if self.wanted else ""
        if rules == ["vjp", "vjp"]:
            return f"opwright::detail::SecondVjp<{body}{mask}>"
        for depth, rule in enumerate(rules):
            outermost = depth == len(rules) - 1
            chosen = self._kept_results() if (rule, depth) == ("jvp", 0) else mask if outermost else ""
            body = f"{_RULES[rule]}<{body}{chosen}>"
        return body

    def _kept_results(self) -> str:
        """Of what the function writes, what has a tangent: all but residuals."""
        assert self.derived is not None  # noqa: S101 - asked for derivatives alone
        residuals = [tensor.name for tensor in self.derived.body.residuals]
        written = [tensor.name for tensor in self._kept_written()]
        return f", {hex(sum(1 << o for o, name in enumerate(written) if name not in residuals))}ull"


def _element_type(type_ref: TypeRef, numbers: Mapping[str, str]) -> str:
    if type_ref.kind == "dtype":
        return type_ref.resolve({}).ctype
    number = numbers[type_ref.name]
    return f"opwright::acc<{number}>" if type_ref.kind == "acc" else number
