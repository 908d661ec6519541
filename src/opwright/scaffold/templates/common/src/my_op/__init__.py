"""One operator, written with Opwright."""

from my_op.layer import MyOp, my_op

__all__ = ["MyOp", "my_op"]
