// What <ATen/CPUGeneral.h> had.
#pragma once

#include <ATen/Parallel.h>
