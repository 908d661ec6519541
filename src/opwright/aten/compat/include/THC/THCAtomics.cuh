// What <THC/THCAtomics.cuh> had.
#pragma once

#include <ATen/cuda/Atomic.cuh>
