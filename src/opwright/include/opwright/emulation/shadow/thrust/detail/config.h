/* Pairs and tuples with every header of Thrust's, as up to CCCL 3.0: programs don't include what they always had. */
#pragma once

#include_next <thrust/detail/config.h>

#include <thrust/pair.h>
#include <thrust/tuple.h>
