// What <THC/THCAsmUtils.cuh> had.
#pragma once

#include <ATen/cuda/AsmUtils.cuh>
