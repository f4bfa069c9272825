#include "hccl/hccl_res_expt.h"
