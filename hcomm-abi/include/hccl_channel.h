#include "hccl/hccl_channel.h"
