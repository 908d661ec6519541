/* Cooperative groups, as the emulator has them: blocks, tiles, coalesced threads, and the grid of a cooperative launch. */
#ifndef OPWRIGHT_EMULATION_COOPERATIVE_GROUPS_H
#define OPWRIGHT_EMULATION_COOPERATIVE_GROUPS_H
#define _COOPERATIVE_GROUPS_H_ /* CUDA's own include guard */

#include "cuda_runtime.h"

#include "../groups/lanes.h"

#endif
