"""The checks. Importing this package registers them, in the order in which they run.

Checks that call the operator in child processes run first, because the errors that they find may damage this process.
The checks that depend on the first calls of the process follow.
"""

# isort: off
from opwright.check.checks import sanitizers as sanitizers
from opwright.check.checks import kept_state as kept_state
from opwright.check.checks import bad_calls as bad_calls
from opwright.check.checks import against_reference as against_reference
from opwright.check.checks import values as values
from opwright.check.checks import devices as devices
from opwright.check.checks import index_overflow as index_overflow
from opwright.check.checks import memory as memory
from opwright.check.checks import gradients as gradients
from opwright.check.checks import derived_gradients as derived_gradients
from opwright.check.checks import forward_mode as forward_mode
from opwright.check.checks import large_gradients as large_gradients
from opwright.check.checks import independence as independence
from opwright.check.checks import compilers as compilers
from opwright.check.checks import transforms as transforms

from opwright.check.registry import all_checks as all_checks  # what asks for the checks has to import them
from opwright.check.registry import select as select
