// What <c10/Half.h> had.
#pragma once

#include <c10/util/Half.h>
