#include "hccl/hccl_launch.h"
