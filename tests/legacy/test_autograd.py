"""Instance-style Functions: the semantics of PyTorch 1.0, against the same formula in PyTorch's own operators."""

# mypy: disable-error-code="override,no-untyped-call,attr-defined"
# What PyTorch annotates are static methods and contexts; an instance-style Function fits neither.

from __future__ import annotations

import copy
import gc
import pickle
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch.autograd import Function, gradcheck

from opwright.errors import OpwrightError
from opwright.legacy.autograd import CHANGES

Tensors = tuple[torch.Tensor, torch.Tensor]


@pytest.fixture(autouse=True)
def undo() -> Iterator[list[Callable[[], None]]]:
    applied = [change.apply() for change in CHANGES]
    yield applied
    while applied:
        applied.pop()()


@pytest.fixture
def pair() -> Tensors:
    torch.manual_seed(0)
    x, y = torch.randn(2, 3, 4, dtype=torch.float64).unbind()
    return x.clone().requires_grad_(), y.clone().requires_grad_()


class Product(Function):
    """by * x * y, with everything that Functions of the time did."""

    def __init__(self, by: float = 1.0) -> None:
        super().__init__()
        self.by = by

    def forward(self, x: Any, y: Any) -> Any:
        assert not torch.is_grad_enabled()
        self.save_for_backward(x, y)
        self.shape = x.shape
        return x * y * self.by

    def backward(self, grad: Any) -> Any:
        assert not torch.is_grad_enabled()
        x, y = tuple(self.saved_tensors)
        assert x.shape == self.shape
        return grad * y * self.by, grad * x * self.by


class Bare(Function):
    """No ``super().__init__()``; saved_variables; more gradients than inputs; needs_input_grad."""

    def __init__(self, power: int) -> None:
        self.power = power

    def forward(self, x: Any) -> Any:
        self.save_for_backward(x)
        return x**self.power

    def backward(self, grad: Any) -> Any:
        (x,) = self.saved_variables
        self.asked = self.needs_input_grad
        return grad * self.power * x ** (self.power - 1), None, None


class Split(Function):
    """Two results."""

    def forward(self, x: Any) -> Any:
        return x * 2, x * 3

    def backward(self, first: Any, second: Any) -> Any:
        self.seen = first.clone(), second.clone()
        return first * 2 + second * 3


class Plain(Function):
    """No arguments, no state."""

    def forward(self, x: Any) -> Any:
        return x.clone()

    def backward(self, grad: Any) -> Any:
        return grad.clone()


class Modern(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, by: float) -> Any:
        ctx.by = by
        return x * by

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad * ctx.by, None


def gradients(result: torch.Tensor, inputs: Any) -> list[torch.Tensor]:
    weights = torch.linspace(-1, 1, result.numel(), dtype=result.dtype).view_as(result)
    return list(torch.autograd.grad((result * weights).sum(), inputs))


def same(left: Any, right: Any) -> None:
    torch.testing.assert_close(list(left), list(right))


# Values and gradients


def test_the_formula_in_pytorchs_own_operators(pair: Tensors) -> None:
    ours, theirs = Product(2.5)(*pair), pair[0] * pair[1] * 2.5
    same([ours], [theirs])
    same(gradients(ours, pair), gradients(theirs, pair))


def test_numerical_gradients(pair: Tensors) -> None:
    assert gradcheck(lambda *inputs: Product(2.5)(*inputs) * 2, pair)
    assert gradcheck(Product(2.5), pair)  # one instance, called many times
    assert gradcheck(Bare(3), pair[:1])
    assert gradcheck(Split(), pair[:1])


def test_the_result_has_the_instance_as_its_grad_fn(pair: Tensors) -> None:
    function = Product(2.0)
    result = function(*pair)
    assert result.grad_fn is function
    assert result.grad_fn.name() == "Product"
    assert len(result.grad_fn.next_functions) == 2
    assert function.needs_input_grad == (True, True)


def test_only_what_requires_grad_gets_one(pair: Tensors) -> None:
    function = Product(2.0)
    result = function(pair[0], pair[1].detach())
    needs: Any = function.needs_input_grad
    assert needs == (True, False)
    same(gradients(result, [pair[0]]), gradients(pair[0] * pair[1].detach() * 2, [pair[0]]))


def test_needs_input_grad_in_forward_and_backward(pair: Tensors) -> None:
    function = Bare(2)
    function(pair[0]).sum().backward()
    assert function.asked == (True,)


def test_nothing_requires_grad(pair: Tensors) -> None:
    x, y = (z.detach() for z in pair)
    assert not Product()(x, y).requires_grad
    with torch.no_grad():
        result = Product()(*pair)
    assert result.grad_fn is None
    same([result], [x * y])


def test_a_chain_with_other_operators(pair: Tensors) -> None:
    x, y = pair
    ours = Plain()(Product(3.0)(x.exp(), y.t().t()).sin())
    same(gradients(ours, pair), gradients((x.exp() * y * 3).sin(), pair))


@pytest.mark.parametrize("shape", [(), (0,), (1,), (2, 0, 3), (2, 3, 4, 5)])
def test_shapes(shape: tuple[int, ...]) -> None:
    x = torch.randn(shape, dtype=torch.float64, requires_grad=True)
    same(gradients(Bare(2)(x), [x]), gradients(x**2, [x]))


def test_gradients_that_nobody_gave_are_zeros(pair: Tensors) -> None:
    function = Split()
    first, _ = function(pair[0])
    first.sum().backward()
    same(function.seen, [torch.ones_like(first), torch.zeros_like(first)])
    same([pair[0].grad], [torch.full_like(first, 2)])


def test_a_single_tensor_in_a_tuple_stays_in_it(pair: Tensors) -> None:
    class One(Plain):
        def forward(self, x: Any) -> Any:
            return (x.clone(),)

    result = One()(pair[0])
    assert isinstance(result, tuple)
    assert result[0].requires_grad


def test_an_input_returned_as_it_is(pair: Tensors) -> None:
    class Identity(Plain):
        def forward(self, x: Any) -> Any:
            return x

    function = Identity()
    result = function(pair[0])
    assert result is not pair[0]
    assert result.grad_fn is not None
    same(gradients(result, pair[:1]), gradients(pair[0] * 1, pair[:1]))


def test_a_view_of_an_input(pair: Tensors) -> None:
    class Flat(Function):
        def forward(self, x: Any) -> Any:
            self.shape = x.size()
            return x.view(-1)

        def backward(self, grad: Any) -> Any:
            return grad.view(self.shape)

    same(gradients(Flat()(pair[0]), pair[:1]), gradients(pair[0].view(-1), pair[:1]))


def test_a_function_in_a_functions_backward_and_forward(pair: Tensors) -> None:
    class Outer(Function):
        def forward(self, x: Any) -> Any:
            self.save_for_backward(x)
            return Bare(2)(x) + Plain()(x)

        def backward(self, grad: Any) -> Any:
            (x,) = self.saved_tensors
            with torch.enable_grad():
                inner = x.detach().requires_grad_()
                (found,) = torch.autograd.grad(Bare(2)(inner).sum(), inner)
            return grad * (found + 1)

    x = pair[0]
    same(gradients(Outer()(x), [x]), gradients(x**2 + x, [x]))


def test_backward_called_by_hand(pair: Tensors) -> None:
    function = Product(2.0)
    function(*pair)
    with torch.no_grad():
        same(function.backward(torch.ones(3, 4, dtype=torch.float64)), [pair[1] * 2, pair[0] * 2])


def test_hooks_of_node_and_tensor(pair: Tensors) -> None:
    function, seen = Product(), []
    result = function(*pair)
    function.register_hook(lambda inputs, outputs: seen.append((len(inputs), len(outputs))))
    result.register_hook(lambda grad: grad * 2)
    result.sum().backward()
    assert seen == [(2, 1)]
    same([pair[0].grad], [2 * pair[1]])


def test_saved_tensors_hooks_see_what_is_saved(pair: Tensors) -> None:
    packed = []

    def pack(x: torch.Tensor) -> torch.Tensor:
        packed.append(x)
        return x

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda x: x):
        result = Product()(*pair)
    assert len(packed) == 2
    same(gradients(result, pair), gradients(pair[0] * pair[1], pair))


# In place, and without derivative


class AddOne(Function):
    def forward(self, x: Any) -> Any:
        x.add_(1)
        self.mark_dirty(x)
        return x

    def backward(self, grad: Any) -> Any:
        return grad


def test_mark_dirty(pair: Tensors) -> None:
    x = pair[0]
    middle = x * 2
    version, function = middle._version, AddOne()
    result = function(middle)
    assert result is middle
    assert middle.grad_fn is function
    assert middle._version > version
    same(gradients(result.sin(), [x]), gradients((x * 2 + 1).sin(), [x]))


def test_mark_dirty_of_what_another_operator_saved(pair: Tensors) -> None:
    middle = pair[0] * 2
    square = middle * middle
    AddOne()(middle)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        square.sum().backward()


def test_mark_dirty_of_a_leaf(pair: Tensors) -> None:
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        AddOne()(pair[0])


def test_mark_non_differentiable(pair: Tensors) -> None:
    class Sort(Function):
        def forward(self, x: Any) -> Any:
            values, index = x.sort(1)
            below = values < 0
            self.mark_non_differentiable(index, below)
            self.index = index
            return values, index, below

        def backward(self, grad: Any, index_grad: Any, below_grad: Any) -> Any:
            assert index_grad.shape == below_grad.shape == grad.shape
            return torch.zeros_like(grad).scatter_(1, self.index, grad)

    x = pair[0]
    values, index, below = Sort()(x)
    assert (values.requires_grad, index.requires_grad, below.requires_grad) == (True, False, False)
    same(gradients(values, [x]), gradients(x.sort(1)[0], [x]))


# More than one backward, more than one call


def test_what_was_saved_is_freed_after_backward(pair: Tensors) -> None:
    function = Product()
    result = function(*pair)
    result.sum().backward(retain_graph=True)
    same(function.saved_tensors, pair)
    result.sum().backward()
    same([pair[0].grad], [2 * pair[1]])
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        result.sum().backward()
    with pytest.raises(RuntimeError, match="have already been freed"):
        _ = function.saved_tensors


def test_not_differentiable_twice(pair: Tensors) -> None:
    x, y = pair
    weight = torch.ones((), dtype=torch.float64, requires_grad=True)
    first = torch.autograd.grad((Product()(x, y) * weight).sum(), pair, create_graph=True)
    same(first, [y, x])
    with pytest.raises(RuntimeError, match="Product is not differentiable twice"):
        first[0].sum().backward()


def test_a_part_of_a_second_derivative_is_never_missing_in_silence(pair: Tensors) -> None:
    x = pair[0]
    (first,) = torch.autograd.grad((Bare(3)(x) + x**2).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="Bare is not differentiable twice"):
        torch.autograd.grad(first.sum(), x)


class Masked(Function):
    """State that every forward makes anew."""

    def __init__(self) -> None:
        self.calls = 0
        self.scale = 1.0

    def forward(self, x: Any) -> Any:
        self.calls += 1
        self.mask = x > 0
        return x * self.mask * self.scale

    def backward(self, grad: Any) -> Any:
        return grad * self.mask * self.scale


def test_one_instance_called_again_before_backward(pair: Tensors) -> None:
    function, (x, y) = Masked(), pair
    first, second, third = function(x), function(y), function(x - y)
    expected = [(x > 0).double() + (x > y), (y > 0).double() - (x > y).double()]
    total = (first + second + third).sum()
    same(torch.autograd.grad(total, pair, retain_graph=True), expected)
    same(torch.autograd.grad(total, pair), expected)


def test_an_attribute_set_between_two_calls_belongs_to_the_second(pair: Tensors) -> None:
    function, (x, _) = Masked(), pair
    results = []
    for scale in (2.0, 3.0, 4.0):
        function.scale = scale
        results.append(function(x))
    for scale, result in zip((2.0, 3.0, 4.0), results, strict=True):
        same(torch.autograd.grad(result.sum(), x), [(x > 0).double() * scale])


def test_an_attribute_set_before_backward_is_seen_there(pair: Tensors) -> None:
    function, (x, _) = Masked(), pair
    for _ in range(2):
        result = function(x)
        function.scale = 5.0
        same(torch.autograd.grad(result.sum(), x), [(x > 0).double() * 5])


def test_the_instance_shows_what_its_last_call_left(pair: Tensors) -> None:
    function, (x, y) = Masked(), pair
    for number, z in enumerate((x, y, x.detach(), y), 1):
        function(z)
        assert function.calls == number
        assert torch.equal(function.mask, z > 0)


def test_later_calls_have_a_grad_fn_that_reads_as_the_instance(pair: Tensors) -> None:
    function = Masked()
    function(pair[0])
    later = function(pair[1]).grad_fn
    assert type(later) is Masked
    assert later is not function
    assert vars(later) is vars(function)


def test_a_call_that_fails_leaves_the_instance_as_it_was(pair: Tensors) -> None:
    class Failing(Masked):
        def forward(self, x: Any) -> Any:
            super().forward(x)
            if self.calls > 1:
                raise ValueError("no")
            return x * 2

    function = Failing()
    first = function(pair[0])
    with pytest.raises(ValueError, match="no"):
        function(pair[1])
    assert function.calls == 1
    same(torch.autograd.grad(first.sum(), pair[0]), [(pair[0] > 0).double()])


def test_a_training_loop_with_one_instance(pair: Tensors) -> None:
    function, weight = Product(2.0), pair[0]
    for _ in range(3):
        weight.grad = None
        function(weight, pair[1]).sum().backward()
        same([weight.grad], [2 * pair[1]])


def test_threads_that_share_an_instance() -> None:
    function, wrong = Masked(), []
    inputs = [torch.randn(50, dtype=torch.float64, requires_grad=True) for _ in range(8)]

    def work(x: torch.Tensor) -> None:
        for _ in range(50):
            (grad,) = torch.autograd.grad(function(x).sum(), x)
            if not torch.equal(grad, (x.detach() > 0).double()):
                wrong.append(x)

    threads = [threading.Thread(target=work, args=(x,)) for x in inputs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_an_instance_that_calls_itself(pair: Tensors) -> None:
    class Twice(Masked):
        def forward(self, x: Any) -> Any:
            if not self.calls:
                self.calls = 1
                self.inner = self(x)
            return super().forward(x)

    function = Twice()
    same(torch.autograd.grad(function(pair[0]).sum(), pair[0]), [(pair[0] > 0).double()])


# Errors


def test_inputs_are_tensors(pair: Tensors) -> None:
    for wrong in (2, 2.0, None, [pair[0]], "x"):
        with pytest.raises(RuntimeError, match="argument 2 is a"):
            Product()(pair[0], wrong)
    with pytest.raises(RuntimeError, match="by name: y"):
        Product()(pair[0], y=pair[1])


@pytest.mark.parametrize("returned", [None, 3, [torch.ones(1)], (torch.ones(1), "x")], ids=str)
def test_results_are_tensors(pair: Tensors, returned: Any) -> None:
    class Wrong(Plain):
        def forward(self, x: Any) -> Any:
            return returned

    with pytest.raises(TypeError, match="expected:   a tensor or a tuple of tensors"):
        Wrong()(pair[0])


@pytest.mark.parametrize("grads", [(), (1,), (None, None, 1)])
def test_the_number_and_the_type_of_gradients(pair: Tensors, grads: Any) -> None:
    class Wrong(Product):
        def backward(self, grad: Any) -> Any:
            return grads

    with pytest.raises(OpwrightError, match=r"Wrong\.backward returned"):
        Wrong()(*pair).sum().backward()


def test_a_gradient_that_is_no_tensor(pair: Tensors) -> None:
    class Wrong(Plain):
        def backward(self, grad: Any) -> Any:
            return 1.0

    with pytest.raises(OpwrightError, match="a float as gradient 1"):
        Wrong()(pair[0]).sum().backward()


def test_no_backward(pair: Tensors) -> None:
    class Forward(Function):
        def forward(self, x: Any) -> Any:
            return x * 2

    result = Forward()(pair[0])
    with pytest.raises(NotImplementedError, match="backward"):
        result.sum().backward()


def test_an_error_in_backward_is_the_users(pair: Tensors) -> None:
    class Failing(Plain):
        def backward(self, grad: Any) -> Any:
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        Failing()(pair[0]).sum().backward()


def test_a_wrong_number_of_inputs(pair: Tensors) -> None:
    with pytest.raises(TypeError, match="positional argument"):
        Product()(pair[0])
    same([Product()(*pair)], [pair[0] * pair[1]])  # the failed call left nothing behind


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_what_other_machinery_of_pytorch_says(pair: Tensors) -> None:
    x = pair[0].detach()
    with pytest.raises(NotImplementedError, match=r"torch\.func .* can't transform"):
        torch.func.vmap(Plain())(x)
    with pytest.raises(NotImplementedError, match=r"torch\.func .* can't transform"):
        torch.func.grad(lambda z: Plain()(z).sum())(x)
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x, x)
        with pytest.raises(NotImplementedError, match="no forward-mode derivative"):
            Plain()(dual)
    with pytest.raises(RuntimeError, match=r"torch\.jit\.trace"):
        torch.jit.trace(lambda z: Plain()(z) * 2, x)


def test_a_static_backward_beside_an_ordinary_forward(pair: Tensors) -> None:
    class Mixed(Plain):
        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * ctx.by

        def __init__(self) -> None:
            self.by = 4

    same(gradients(Mixed()(pair[0]), pair[:1]), gradients(pair[0] * 4, pair[:1]))


# Classes and objects


def test_inheritance(pair: Tensors) -> None:
    class Halved(Product):
        def forward(self, x: Any, y: Any) -> Any:
            return super().forward(x, y) / 2

        def backward(self, grad: Any) -> Any:
            return super().backward(grad / 2)

    Product(1.0)(*pair)
    same(gradients(Halved(3.0)(*pair), pair), gradients(pair[0] * pair[1] * 1.5, pair))


def test_old_forms_of_init(pair: Tensors) -> None:
    class ByName(Plain):
        def __init__(self, more: int) -> None:
            Function.__init__(self)
            self.more = more

    assert ByName(1)(pair[0]).grad_fn.more == 1
    Plain()


def test_inplace_and_nested_io_function(pair: Tensors) -> None:
    from torch.autograd.function import InplaceFunction, NestedIOFunction

    class MaybeInplace(InplaceFunction):
        def forward(self, x: Any) -> Any:
            return x.clone()

        def backward(self, grad: Any) -> Any:
            return grad * (2 if self.inplace else 1)

    class Nested(NestedIOFunction):
        def forward_extended(self, first: Any, rest: Any) -> Any:
            self.save_for_backward(first, rest)
            return first * rest[0], (rest[0] + first,)

        def backward_extended(self, product: Any, total: Any) -> Any:
            first, rest = self.saved_tensors
            return product * rest[0] + total[0], product * first + total[0]

    before = dict(vars(NestedIOFunction))
    with pytest.raises(NotImplementedError):
        NestedIOFunction()(pair[0])
    assert dict(vars(NestedIOFunction)) == before
    same(gradients(MaybeInplace(inplace=True)(pair[0]), pair[:1]), gradients(pair[0] * 2, pair[:1]))
    x, y = pair
    product, (total,) = Nested()(x, (y,))
    same(gradients(product + 2 * total, pair), gradients(x * y + 2 * (x + y), pair))


def test_apply_of_a_class_with_ordinary_methods_runs_as_it_does_without_us(pair: Tensors) -> None:
    Plain()(pair[0])
    result = Plain.apply(pair[0])
    assert type(result.grad_fn).__name__ == "PlainBackward"
    same(gradients(result, pair[:1]), gradients(pair[0] * 1, pair[:1]))


@pytest.mark.parametrize("through", [copy.copy, copy.deepcopy, pickle.dumps])
def test_instances_are_neither_copied_nor_pickled_as_ever(pair: Tensors, through: Any) -> None:
    function = Product()
    for _ in range(2):
        with pytest.raises(TypeError, match="pickle"):
            through(function)
        function(*pair)


def test_nothing_of_ours_is_among_the_attributes(pair: Tensors) -> None:
    function = Product(2.0)
    for _ in range(3):
        function(*pair).sum().backward()
    assert vars(function) == {"by": 2.0, "shape": pair[0].shape}


class Marker:
    """Something whose end can be seen."""


def test_instances_and_what_they_hold_die_with_the_result(pair: Tensors) -> None:
    class Holding(Product):
        def forward(self, x: Any, y: Any) -> Any:
            self.marker = Marker()
            alive.append(weakref.ref(self.marker))
            return super().forward(x, y)

    alive: list[weakref.ref[Any]] = []
    gc.disable()
    try:
        function = Holding()
        for _ in range(3):
            function(*pair).sum().backward()
        del function
        for _ in range(3):
            Holding()(*pair).sum().backward()
            Holding()(*pair)
    finally:
        gc.enable()
    assert [one() for one in alive] == [None] * 9


def test_attributes_that_hold_the_result_are_collected(pair: Tensors) -> None:
    class Keeping(Product):
        def forward(self, x: Any, y: Any) -> Any:
            self.marker = Marker()
            alive.append(weakref.ref(self.marker))
            self.me = self
            return super().forward(x, y)

    alive: list[weakref.ref[Any]] = []
    function = Keeping()
    function(*pair).sum().backward()
    function(*pair).sum().backward()
    function.after = function(*pair)
    del function
    gc.collect()
    assert [one() for one in alive] == [None] * 3


def test_many_calls_leave_no_objects(pair: Tensors) -> None:
    function = Masked()

    def count() -> int:
        for _ in range(20):
            (function(pair[0]) + Product()(*pair)).sum().backward()
        gc.collect()
        return len(gc.get_objects())

    count()
    first = count()
    assert abs(count() - first) < 20


# Modern Functions, and taking it back


# torch.compile makes an instance of Function itself, with us and without.
@pytest.mark.filterwarnings("ignore:.*autograd.function.Function:DeprecationWarning")
def test_a_modern_function_is_what_it_was(pair: Tensors) -> None:
    x = pair[0]
    result = Modern.apply(x, 3.0)
    assert type(result.grad_fn).__name__ == "ModernBackward"
    assert type(result.grad_fn) is Modern._backward_cls
    same(gradients(result, [x]), gradients(x * 3, [x]))
    (first,) = torch.autograd.grad((Modern.apply(x, 3.0) ** 2).sum(), x, create_graph=True)
    same(torch.autograd.grad(first.sum(), x), [torch.full_like(x, 18)])
    assert torch.equal(torch.compile(lambda z: Modern.apply(z, 3.0) + 1, backend="eager", fullgraph=True)(x), x * 3 + 1)
    with pytest.warns(DeprecationWarning, match="should not be instantiated") as warned:
        instance = Modern()
    assert warned[0].filename == __file__
    with pytest.raises(RuntimeError, match="Legacy autograd function with non-static forward method"):
        instance(x)


def test_functorch_and_a_modern_function(pair: Tensors) -> None:
    class Square(Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x: Any) -> Any:
            return x**2

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return 2 * ctx.saved_tensors[0] * grad

    x = pair[0].detach()
    found = torch.func.vmap(torch.func.grad(lambda z: Square.apply(z).sum()))(x)
    torch.testing.assert_close(found, 2 * x)


def test_compiled_code_leaves_the_call_to_python(pair: Tensors) -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The .grad attribute")  # torch.compile's own, of what isn't a leaf
        compiled = torch.compile(lambda x, y: Product(2.0)(x * 2, y) + 1, backend="eager")
        result = compiled(*pair)
        same(gradients(result, pair), gradients(pair[0] * pair[1] * 4 + 1, pair))
        with pytest.raises(Exception, match="Dynamo"):
            torch.compile(lambda *inputs: Product(2.0)(*inputs) * 2, backend="eager", fullgraph=True)(*pair)


def test_the_profiler_knows_it_by_its_name(pair: Tensors) -> None:
    with torch.profiler.profile() as profile:
        Product()(*pair).sum().backward()
    assert "Product" in {event.key for event in profile.key_averages()}


def state() -> dict[str, Any]:
    return {**vars(Function), "meta": dict(vars(type(Function))), "apply of its base": Function.__mro__[1].apply}


# That it takes the same time was measured, too: 9.99 us without, 10.26 with; medians 20.5 and 20.4 (a busy machine).
def test_the_path_of_a_modern_call_is_untouched(undo: list[Callable[[], None]]) -> None:
    with_us = state()
    undo.pop()()
    without = state()
    changed = {name for name in {*with_us, *without} if with_us.get(name) != without.get(name)}
    assert changed == {"__call__", "__init__", "_do_forward"}  # of instances, and a modern call makes none


def test_taken_back_all_is_as_before(undo: list[Callable[[], None]]) -> None:
    undo.pop()()
    before = state()
    assert before["__call__"].__module__ == before["__init__"].__module__ == "torch.autograd.function"
    take_back = CHANGES[0].apply()
    assert state() != before
    take_back()
    assert state() == before


def test_after_it_is_taken_back(pair: Tensors, undo: list[Callable[[], None]]) -> None:
    result, function = Product(2.0)(*pair), Bare(2)
    undo.pop()()
    with pytest.raises(RuntimeError, match="Legacy autograd function"):
        function(pair[0])
    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        Product(2.0)
    same(Plain.apply(pair[0]).unbind(), pair[0].unbind())
    # What was computed before is differentiated as it would have been.
    same(gradients(result, pair), gradients(pair[0] * pair[1] * 2, pair))
