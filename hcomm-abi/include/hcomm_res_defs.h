#include "hccl/hcomm_res_defs.h"
