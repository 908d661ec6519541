// What <THC/THCScanUtils.cuh> had.
#pragma once

#include <ATen/cuda/ScanUtils.cuh>
