"""The signatures of derivatives: what they are called, what they take and return, and where there are none."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

from opwright.signature import Signature, parse
from opwright.signature.derivatives import (
    active,
    chains,
    obstacle,
    overload_name,
    tangents,
    with_derived,
    without_hash,
)
from opwright.signature.names import jvp_of
from opwright.signature.wiring import GRAD, derivative


def derived(*texts: str) -> dict[str, str]:
    """What follows from signatures, by name, as text."""
    signatures, found = with_derived(map(parse, texts))
    by_name = {signature.name: signature for signature in signatures}
    assert all(by_name[name] == each.signature for name, each in found.items())
    return {name: str(each.signature) for name, each in found.items()}


def test_all_orders() -> None:
    assert derived("f(x: T, y: T, k: int, a: float = 1.0) -> (z: T)") == {
        "f_backward": "f_backward(grad_z: T?, x: T, y: T, k: int, a: float) -> (grad_x: T, grad_y: T)",
        "f_backward_backward": (
            "f_backward_backward(grad_grad_x: T?, grad_grad_y: T?, grad_z: T?, x: T, y: T, k: int, a: float) -> "
            "(grad_grad_z: T, grad_x: T, grad_y: T)"
        ),
        "_f_jvp": "_f_jvp(tangent_x: T?, tangent_y: T?, x: T, y: T, k: int, a: float) -> (tangent_z: T)",
        "_f_jvp_backward": (
            "_f_jvp_backward(grad_tangent_z: T?, tangent_x: T?, tangent_y: T?, x: T, y: T, k: int, a: float) -> "
            "(grad_tangent_x: T, grad_tangent_y: T, grad_x: T, grad_y: T)"
        ),
        "_f_backward_jvp": (
            "_f_backward_jvp(tangent_grad_z: T?, tangent_x: T?, tangent_y: T?, grad_z: T?, x: T, y: T, k: int, "
            "a: float) -> (tangent_grad_x: T, tangent_grad_y: T)"
        ),
    }


def test_the_old_value_of_what_is_overwritten_is_kept() -> None:
    text = "f(x: T!, y: T) -> (z: T; r: T)"
    signatures, _ = with_derived([parse(text)])
    assert str(signatures[0]) == "f(x: T!, y: T) -> (z: T; r: T, old_x: T)"
    found = derived(text)
    assert found["f_backward"] == (
        "f_backward(grad_z: T?, grad_r: T?, grad_old_x: T?, grad_x: T?, old_x: T, y: T) -> (grad_x: T, grad_y: T)"
    )
    assert found["_f_jvp"] == "_f_jvp(tangent_x: T?, tangent_y: T?, x: T, y: T) -> (tangent_z: T, tangent_x: T)"


def test_what_a_call_of_a_kernel_over_views_changes_is_kept() -> None:
    text = "f(x: T[N]!, i: i64[N]!, rng: generator(1)) -> (z: T[?K], y: T[N]? if not all; r: T[N]) derived"
    text = text.replace("rng:", "all: bool, rng:")
    signatures, _ = with_derived([parse(text)])
    assert str(signatures[0].as_written) == text
    assert [str(r) for r in signatures[0].residuals] == ["r: T[N]", "old_x: T[N]", "old_i: i64[N]", "old_rng: i64[2]"]
    assert derived(text) == {
        "f_backward": (
            "f_backward(grad_z: T[K], grad_y: T[N]?, grad_old_x: T[N]?, grad_x: T[N], old_x: T[N], old_i: i64[N], "
            "all: bool, old_rng: i64[2]) -> (grad_x: T[N])"
        ),
        "f_backward_backward": (
            "f_backward_backward(grad_grad_x: T[N], grad_z: T[K], grad_y: T[N]?, grad_old_x: T[N]?, grad_x: T[N], "
            "old_x: T[N], old_i: i64[N], all: bool, old_rng: i64[2]) -> (grad_grad_z: T[K], grad_grad_y: T[N], "
            "grad_grad_old_x: T[N], grad_grad_x: T[N], grad_old_x: T[N])"
        ),
        "_f_backward_jvp": (
            "_f_backward_jvp(tangent_grad_z: T[K]?, tangent_grad_y: T[N]?, tangent_grad_old_x: T[N]?, "
            "tangent_grad_x: T[N]?, tangent_old_x: T[N]?, grad_z: T[K], grad_y: T[N]?, grad_old_x: T[N]?, "
            "grad_x: T[N], old_x: T[N], old_i: i64[N], all: bool, old_rng: i64[2]) -> (tangent_grad_x: T[N])"
        ),
    }


def test_the_tangent_of_an_optional_result_is_optional() -> None:
    found = derived("f(x: T[N], all: bool) -> (y: T[N], z: T[N]? if all) derived")
    assert found["_f_jvp"] == (
        "_f_jvp(tangent_x: T[N]?, x: T[N], all: bool) -> (tangent_y: T[N], tangent_z: T[N]? if all)"
    )


def test_only_floating_variables_have_derivatives() -> None:
    found = derived("f(x: T, i: U, b: bool, c: T?) -> (z: T, n: i64) where T in (f32, i32), U in (i32, i64)")
    assert found["f_backward"] == (
        "f_backward(grad_z: T?, x: T, i: U, b: bool, c: T?) -> (grad_x: T, grad_c: T) "
        "where T in (f32, i32), U in (i32, i64)"
    )
    assert derived("f(x: T, i: i64) -> (z: acc(T))")["f_backward"] == (
        "f_backward(grad_z: acc(T)?, x: T, i: i64) -> (grad_x: T)"
    )


def test_what_is_written_wins() -> None:
    f, g = "f(x: T) -> (z: T)", "g(x: T) -> (z: T)"
    backward = "f_backward(grad_z: T, x: T) -> (grad_x: T)"
    found = derived(f, backward, g)
    assert "f_backward" not in found
    assert "_f_jvp" not in found
    assert found["f_backward_backward"] == (
        "f_backward_backward(grad_grad_x: T?, grad_z: T, x: T) -> (grad_grad_z: T, grad_x: T)"
    )
    assert found.keys() >= {"g_backward", "g_backward_backward", "_g_jvp"}


def test_no_second_order_of_a_backward_that_lost_what_it_would_need() -> None:
    """r stands for x here, and nothing says how; with z, the chain of gradients does."""
    assert derived("f(x: T) -> (z: T; r: T)", "f_backward(grad_z: T, r: T) -> (grad_x: T)") == {}
    found = derived("f(x: T) -> (z: T)", "f_backward(grad_z: T, z: T) -> (grad_x: T)")
    assert found == {
        "f_backward_backward": "f_backward_backward(grad_grad_x: T?, grad_z: T, z: T) -> (grad_grad_z: T, grad_z: T)"
    }


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            "f(x: T[N]) -> (y: T[N])",
            "derivatives are derived for pointwise operators (bare element types, as x: T), and for others that say `d",
        ),
        ("f(x: T[N]) -> (y: T[N]) batched", "derivatives are derived for pointwise operators "),
        ("f(x: f32, w: T) -> (y: T)", "x: f32 has a fixed type, which can't carry a derivative; write x: T"),
        ("f(x: T) -> (y: f64)", "y: f64 has a fixed type, which can't carry a derivative; write y: T"),
        ("f(x: T, rng: generator(1)) -> (y: T)", "it draws from the generator rng"),
        ("f(x: i64) -> (y: i64)", "none of its arguments, or none of its results, has a derivative"),
        ("f(x: T) -> (y: bool)", "none of its arguments, or none of its results, has a derivative"),
        ("f(x: T) -> (y: T) where T in (i32, i64)", "none of its arguments, or none of its results, has a derivative"),
        ("f(x: T, i: i64) -> (y: T)", ""),
    ],
)
def test_obstacles(text: str, why: str) -> None:
    signature = parse(text)
    found = obstacle(signature)
    assert found.startswith(why)
    assert bool(found) == bool(why)
    assert bool(derived(text)) != bool(why)


def test_which_tangents() -> None:
    signature = parse("f(k: int, x: T, i: i64, y: T!) -> (n: i64, z: T; r: T)")
    assert tangents(signature) == ((1, 3), (1, 3))


def test_names_of_forward_modes_are_no_authors() -> None:
    assert jvp_of("f") == "_f_jvp"
    assert jvp_of("_f_jvp_backward") == "_f_jvp_backward_jvp"


@pytest.mark.slow
@settings(max_examples=20, suppress_health_check=[HealthCheck.filter_too_much])
@given(data=st.data())
def test_whatever_is_derived_fits(signatures: st.SearchStrategy[Signature], data: st.DataObject) -> None:
    """Every derived signature can be read again, is pointwise, and is wired to what it is the derivative of."""
    signature = data.draw(signatures)
    assume(signature.pointwise and not signature.is_backward)
    every, found = with_derived([signature])
    event("derived" if found else "not derived")
    assert bool(found) != bool(obstacle(signature))
    for each in found.values():
        assert each.signature.pointwise
        assert each.signature.tensors
    for chain in chains(every):
        # A forward mode may take gradients, or take and return a tangent of one name, which no author's operator may.
        assert all(parse(str(one)) == one for one in chain if not one.name.endswith("_jvp"))
        for forward, backward in pairwise(chain):
            wiring = derivative(forward, backward)
            assert [GRAD + forward.inputs[i].name for i in wiring.inputs] == [o.name for o in backward.outputs]
            wanted = {i for i, param in enumerate(forward.inputs) if param in active(forward, forward.inputs)}
            assert set(wiring.inputs) == wanted


def test_overload_names_leave_texts() -> None:
    name = overload_name([parse("f(x: T[N]) -> (y: T[N])")])
    assert without_hash(f"ns::f.{name}() and f.{name}_recorded, f.sig_x") == "ns::f() and f, f.sig_x"
