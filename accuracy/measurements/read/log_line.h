#pragma once

#include <string_view>

namespace shardsim {

// A line of a job's output without what the launcher wrote before it: `mpirun --tag-output` ("[1,0]<stdout>:"),
// `srun -l` and `pdsh` ("12: ", "node7: "), Hydra and torchrun ("[0] ", "[default0]:"), `kubectl logs --prefix`
// ("[pod/worker-0/main] "), `docker compose` ("main-1  | "), and a time of day in the form of RFC 3339. Labels may
// stand one behind the other.
std::string_view without_label(std::string_view line);

}  // namespace shardsim
