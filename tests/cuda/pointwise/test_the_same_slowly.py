"""The rest of what `test_the_same` asks: more types and layouts, each compiled anew."""

from __future__ import annotations

import pytest

from tests.runtime import test_pointwise as calls
from tests.runtime import test_pointwise_autograd as autograd
from tests.runtime import test_pointwise_bodies as written

pytestmark = [
    pytest.mark.exhaustive,
    pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning"),
]  # PyTorch's own

test_random_calls = calls.test_random_calls
test_more_elements_than_a_thread_takes = calls.test_more_elements_than_a_thread_takes
test_promotion = calls.test_promotion
test_integers_promote = calls.test_integers_promote_where_there_are_integer_types
test_random_overwriting = calls.test_random_overwriting
test_gradients = autograd.test_gradients_have_the_inputs_shapes_and_types
test_a_gradient_that_is_wanted_alone = autograd.test_a_gradient_that_is_wanted_alone
test_overwriting_under_autograd = autograd.test_overwriting_under_autograd
test_limits_are_those_of_the_type = written.test_limits_are_those_of_the_type
test_sizes_are_those_of_the_type = written.test_sizes_are_those_of_the_type
test_increments = written.test_increments
test_reverse_over_forward_in_place = written.test_reverse_over_forward_in_place
