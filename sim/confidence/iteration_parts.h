#pragma once

#include <vector>

#include "models/compute/gpus/gpu_constants.h"
#include "sim/confidence/residuals.h"
#include "sim/scenario/scenario.h"
#include "sim/timeline/timeline_figures.h"

namespace shardsim {

// The class of errors of a call of a collective. `across`: between nodes, over `transport`; `bytes` as nccl-tests
// counts.
std::string collective_error_class(std::string_view kind, bool across, std::string_view transport, std::int64_t bytes);

// What a simulated case ran on and with.
IterationSetting setting_of(const Case& item, int gpus);

// What an iteration is made of, on the mean rank: transfers of collectives that nothing hides, by operation, network
// and size of a call; waiting for the host; and for the rest lookups, updates and products, in proportion to what they
// take. The parts add up to the iteration. `times` are those of `timeline`; `host_ms`: for which the GPU waits.
std::vector<IterationPart> parts_of(const Case& item, const Timeline& timeline, const std::vector<NamedTime>& times,
                                    double host_ms, const GpuTable& gpus);

}  // namespace shardsim
