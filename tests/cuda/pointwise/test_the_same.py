"""What is asked of pointwise operators on the CPU, asked of their CUDA kernels: the same functions and references."""

from __future__ import annotations

import pytest

from tests.runtime import test_pointwise as calls
from tests.runtime import test_pointwise_autograd as autograd
from tests.runtime import test_pointwise_bodies as written

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")  # PyTorch's own

test_concrete_types_are_never_cast = calls.test_concrete_types_are_never_cast
test_memory_formats_are_preserved = calls.test_memory_formats_are_preserved
test_elements_that_are_not_aligned = calls.test_elements_that_are_not_aligned
test_an_argument_may_be_what_is_overwritten = calls.test_an_argument_may_be_what_is_overwritten
test_two_are_overwritten = calls.test_two_are_overwritten

test_first_and_second_derivatives = autograd.test_first_and_second_derivatives

test_overwritten_integers = written.test_overwritten_integers_are_kept_for_the_gradient
test_results_begin_at_zero = written.test_results_begin_at_zero
