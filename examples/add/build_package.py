"""The package form: setup.py names this file's `ffi`, and the module becomes adding._ext.my_lib._my_lib."""

from torch.utils.ffi import create_extension

ffi = create_extension(
    "adding._ext.my_lib",
    package=True,
    headers=["src/my_lib.h"],
    sources=["src/my_lib.c"],
    relative_to=__file__,
)

if __name__ == "__main__":
    ffi.build()
