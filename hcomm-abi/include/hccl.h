#include "hccl/hccl.h"
