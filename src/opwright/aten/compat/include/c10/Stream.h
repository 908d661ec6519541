// What <c10/Stream.h> had.
#pragma once

#include <c10/core/Stream.h>
