#include "sim/study/packed_result.h"

#include <fmt/format.h>

#include <sstream>

namespace shardsim {

// The Timeline, and what limits it in front.
std::string pack(const SimulationResult& result) {
  return fmt::format("{} {} ", result.busiest.share, result.busiest.what) + '\n' + to_bytes(result.timeline);
}

SimulationResult unpack(std::string_view bytes) {
  const std::size_t line = bytes.find('\n');
  const std::size_t space = bytes.find(' ');
  SimulationResult result;
  result.busiest.share = std::stod(std::string(bytes.substr(0, space)));
  result.busiest.what = bytes.substr(space + 1, line - space - 2);
  result.timeline = timeline_from_bytes(bytes.substr(line + 1));
  return result;
}

// Before each job a line: bytes that follow it, iterations, the shortest, the longest.
std::string pack_jobs(const std::vector<JobSimulation>& jobs) {
  std::string bytes;
  for (const JobSimulation& job : jobs) {
    const std::string packed = pack(job.simulation);
    bytes += fmt::format("{} {} {} {}\n", packed.size(), job.measured, job.shortest_ms, job.longest_ms) + packed;
  }
  return bytes;
}

std::vector<JobSimulation> unpack_jobs(std::string_view bytes) {
  std::vector<JobSimulation> jobs;
  while (!bytes.empty()) {
    const std::size_t line = bytes.find('\n');
    std::istringstream head{std::string(bytes.substr(0, line))};
    head.imbue(std::locale::classic());
    std::size_t size = 0;
    JobSimulation job;
    head >> size >> job.measured >> job.shortest_ms >> job.longest_ms;
    job.simulation = unpack(bytes.substr(line + 1, size));
    bytes.remove_prefix(line + 1 + size);
    jobs.push_back(std::move(job));
  }
  return jobs;
}

}  // namespace shardsim
