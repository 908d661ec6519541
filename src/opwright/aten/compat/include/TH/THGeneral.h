// What <TH/THGeneral.h> had.
#pragma once

#include "../../shims/th_general.h"
