#include "../cooperative_groups.h"

#include "../../groups/algorithms.h"
