#include "hccl/hccl_res.h"
