/* The parts of the standard library that nvcc's own headers bring. */
#ifndef OPWRIGHT_EMULATION_STANDARD_H
#define OPWRIGHT_EMULATION_STANDARD_H

#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmath>
#include <cstdlib>
#include <new>
#include <utility>

#endif
