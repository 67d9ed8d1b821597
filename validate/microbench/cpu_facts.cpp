#include "validate/microbench/cpu_facts.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/version.h"

namespace shardsim {
namespace {

constexpr std::int64_t kCacheIfUnknown = std::int64_t{32} << 20;
constexpr std::int64_t kMemoryIfUnknown = std::int64_t{2} << 30;

// What follows `key` and its colon in a file of /proc; "" when it is not there.
std::string value_in(const char* file, const std::string& key) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t colon = line.find(':');
    const std::size_t begin = colon == std::string::npos ? colon : line.find_first_not_of(" \t", colon + 1);
    if (begin != std::string::npos) return line.substr(begin);
  }
  return "";
}

std::int64_t free_memory() {
  std::int64_t kibibytes = 0;
  std::istringstream(value_in("/proc/meminfo", "MemAvailable")) >> kibibytes;
  return kibibytes > 0 ? kibibytes * 1024 : kMemoryIfUnknown;
}

}  // namespace

DeviceFacts cpu_facts(int threads) {
  DeviceFacts facts;
  facts.name = value_in("/proc/cpuinfo", "model name");
  if (facts.name.empty()) facts.name = "CPU";
  facts.software = "shardsim CPU kernels " + version();
  facts.num_gpus = 0;
  facts.threads = threads;
  facts.memory_bytes = free_memory() / 2;  // the rest of the machine lives too
  const long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
  facts.cache_bytes = cache > 0 ? cache : kCacheIfUnknown;
  facts.more = {{"processors", std::to_string(std::thread::hardware_concurrency())},
                {"cpu_MHz_as_read", value_in("/proc/cpuinfo", "cpu MHz")}};
  return facts;
}

}  // namespace shardsim
