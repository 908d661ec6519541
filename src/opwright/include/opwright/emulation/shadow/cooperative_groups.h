/* Cooperative groups, as the emulator has them: blocks, tiles, coalesced threads, and the grid of a cooperative launch. */
#include "cuda_runtime.h"

#include "../groups/lanes.h"
