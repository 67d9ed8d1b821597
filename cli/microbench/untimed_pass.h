#pragma once

#include "cli/microbench/request.h"
#include "validate/microbench/nccl_log.h"

namespace shardsim {

class Rendezvous;

// Returns NCCL's log of its choices when every call of the sweep is made once, before anything is timed. NCCL reads the
// variables of its log once in a process, and then writes a line for every call: in the process that measures, these
// lines would be timed with the calls. So every rank starts this program anew, with --untimed, and rank 0's log is
// read. Collective; everything is unknown where a rank cannot start it or NCCL fails in it. Errors (Failure::run): the
// run fails meanwhile.
NcclLog untimed_pass(Rendezvous& rendezvous, const Request& request);

// To be called in the program that is started so: it ends with the one that started it.
void end_with_parent();

}  // namespace shardsim
