#include "hccl/hcomm_channel.h"
