/* What every CUDA source includes, as the emulator has it; found in place of the toolkit's. */
#ifndef OPWRIGHT_EMULATION_CUDA_RUNTIME_H
#define OPWRIGHT_EMULATION_CUDA_RUNTIME_H

#include "../include_guards.h"
#include "../qualifiers.h"
#include "../core.h"
#include "../vectors.h"
#include "../refused.h"
#include "../bits.h"
#include "../dots.h"
#include "../dpx.h"
#include "../simd.h"
#include "../memory_hints.h"
#include "../cuda_api.h"
#include "../cuda_device_api.h"
#include "../cuda_access_policy.h"
#include "../cuda_memory_pools.h"
#include "../cuda_graph_api.h"
#include "../cuda_ipc.h"
#include "../launch_pointer.h"
#if defined(__CUDACC__) /* code of the host may define such functions itself */
#include "../math.h"
#include "../ptx.h"
#endif
#include "../textures/references.h"

#include <assert.h>
#include <math.h>

#endif
