/// Checks of a call, before anything is acquired or queued.
#ifndef HCOMM_OP_CHECKS_H
#define HCOMM_OP_CHECKS_H

#include <string>

#include "execute.h"
#include "problem.h"

namespace hcomm_op {

/// Checks a call and says what it is about: all of `problem` but the layout and the HCCL buffer.
HcclResult CheckCall(const Call &call, HcclComm comm, aclrtStream stream, Problem &problem, uint32_t &ranks);

/// Contexts differ by all that changes what a rank needs. Their key has the communicator in it.
std::string ContextTag(const Call &call);

} // namespace hcomm_op

#endif
