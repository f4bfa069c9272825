#include "hccl/hccl_comm.h"
