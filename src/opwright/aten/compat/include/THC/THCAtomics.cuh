// What <THC/THCAtomics.cuh> had.
#pragma once

#include "../../shims/thc_atomics.h"
