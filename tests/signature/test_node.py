"""What an operator's autograd node looks like, for signatures whose answer can be told by hand."""

from __future__ import annotations

from opwright.signature import parse
from opwright.signature.node import NodePlan, node_plan
from opwright.signature.wiring import Wire, derivative


def plan(forward: str, backward: str | None = None) -> NodePlan:
    signature = parse(forward)
    return node_plan(signature, derivative(signature, parse(backward)) if backward else None)


def test_the_backward_may_return_gradients_in_any_order() -> None:
    found = plan(
        "f(a: T[N], k: int, b: T[N]) -> (y: T[N])",
        "f_backward(grad_y: T[N], k: int, a: T[N]) -> (grad_b: T[N], grad_a: T[N])",
    )
    assert found.wires == (Wire("zero_gradient", 0), Wire("scalar", 1), Wire("input", 0), Wire("mask", 0))
    assert (found.edges, found.gradients) == ((2, 0), (0, 1))
    assert (found.differentiable, found.slots) == ((True,), (0,))


def test_what_is_mutated_comes_first() -> None:
    found = plan(
        "f(x: T[N], y: T[N]!) -> (z: T[N])",
        "f_backward(grad_z: T[N]?, grad_y: T[N]?) -> (grad_x: T[N], grad_y: T[N])",
    )
    assert (found.edges, found.gradients) == ((1, 0), (1, 0))
    assert (found.differentiable, found.slots) == ((True, True), (0, 1))


def test_an_integer_that_is_overwritten_has_an_edge_and_no_gradient() -> None:
    found = plan("f(x: T[N], count: i64[1]!) -> (y: T[N])", "f_backward(grad_y: T[N]) -> (grad_x: T[N])")
    assert (found.edges, found.gradients) == ((1, 0), (-1, 0))
    assert (found.differentiable, found.slots) == ((True, False), (0, 1))


def test_a_residual_has_a_slot_only_where_its_gradient_is_taken() -> None:
    forward = "f(x: T[N], y: T[N]!) -> (z: T[N]; a: T[N], b: T[N])"
    takes = "f_backward(grad_z: T[N]?, grad_b: T[N]?, grad_y: T[N]?, a: T[N]) -> (grad_x: T[N], grad_y: T[N])"
    found = plan(forward, takes)
    assert (found.differentiable, found.slots) == ((True, False, True, True), (0, -1, 1, 2))


def test_without_a_backward_every_tensor_that_can_have_a_gradient_counts() -> None:
    found = plan("f(i: i64[N], x: T[N], k: float, y: f32[N]!) -> (z: T[N], n: i64[N]; kept: T[N])")
    assert found.wires == ()
    assert (found.edges, found.gradients) == ((3, 1), (1, 0))
    assert (found.differentiable, found.slots) == ((True, False, True, True), (0, 1, -1, 2))
