#include "hccl/hcomm_primitives.h"
