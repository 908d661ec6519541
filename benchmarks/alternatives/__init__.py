"""One small operator, y = SCALE * x * sigmoid(x), by everything that one can take for it: the code that a user writes.

Each module has ``load(folder)``, which returns the operator for float32 tensors on the CPU, with its gradient; what it
compiles goes to `folder`. Modules import nothing of each other, since the lines of each are counted. ``peers.py``
copies a module and edits its ``1.25`` to time an edit.
"""
