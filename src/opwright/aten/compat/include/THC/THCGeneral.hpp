// What <THC/THCGeneral.hpp> had.
#pragma once

#include <THC/THCGeneral.h>
