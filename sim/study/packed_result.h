#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/engine/jobs/job_engine.h"

namespace shardsim {

// What a worker sends back, on one machine. Reading back what was packed gives an equal value.
std::string pack(const SimulationResult& result);
SimulationResult unpack(std::string_view bytes);

std::string pack_jobs(const std::vector<JobSimulation>& jobs);
std::vector<JobSimulation> unpack_jobs(std::string_view bytes);

}  // namespace shardsim
