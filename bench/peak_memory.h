#pragma once

#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace shardsim {

// Peak memory of this process since it began, or since the last call of forget_peak() (proc(5), VmHWM). In MB of 2^20
// bytes.
inline double peak_mb() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::stod(line.substr(6)) / 1024;
  return 0;
}

inline void forget_peak() {
  std::ofstream("/proc/self/clear_refs") << 5;
}

// Peak memory of the largest process so far: this one, or a worker that has ended. In MB of 2^20 bytes.
inline double peak_mb_of_workers() {
  rusage own{}, workers{};
  getrusage(RUSAGE_SELF, &own);
  getrusage(RUSAGE_CHILDREN, &workers);
  return static_cast<double>(std::max(own.ru_maxrss, workers.ru_maxrss)) / 1024.0;
}

}  // namespace shardsim
