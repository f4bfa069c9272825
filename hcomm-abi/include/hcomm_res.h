#include "hccl/hcomm_res.h"
