// AutoGIL and AutoNoGIL: Python's global lock, taken or given up until the end of the scope.
#pragma once

#include <pybind11/pybind11.h>

struct __attribute__((__visibility__("hidden"))) AutoGIL { pybind11::gil_scoped_acquire held; };

struct __attribute__((__visibility__("hidden"))) AutoNoGIL { pybind11::gil_scoped_release released; };
