#include "hccl/hcomm_primitives_expt.h"
