/* Stands for CUDA's header in the host half. */
#include <opwright/nvrtc/runtime.h>
