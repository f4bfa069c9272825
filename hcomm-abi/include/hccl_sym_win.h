#include "hccl/hccl_sym_win.h"
