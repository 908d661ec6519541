/* All of the emulator's core, for rewritten CUDA sources. Nothing of the standard library but <stddef.h> and <stdint.h>. */
#ifndef OPWRIGHT_EMULATION_CORE_H
#define OPWRIGHT_EMULATION_CORE_H

#include "atomics.h"
#include "nv_atomics.h"
#include "barrier.h"
#include "context.h"
#include "fault.h"
#include "launch.h"
#include "shared.h"
#include "warp.h"
#if defined(OPWRIGHT_EMULATION_CHECK)
#include "host_variables.h"
#include "copies.h"
#include "local_arrays.h"
#endif

#endif
