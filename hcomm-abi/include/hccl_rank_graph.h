#include "hccl/hccl_rank_graph.h"
