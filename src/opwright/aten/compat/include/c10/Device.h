// What <c10/Device.h> had.
#pragma once

#include <c10/core/Device.h>
