#include "validate/emulated/cpu_shares.h"

#include <array>
#include <fstream>
#include <string>

namespace shardsim {

// proc(5): user nice system idle iowait irq softirq steal.
CpuWatch::Ticks CpuWatch::read() {
  std::ifstream file("/proc/stat");
  std::string label;
  std::array<double, 8> ticks{};
  file >> label;
  for (double& count : ticks) file >> count;
  if (!file) return {};
  Ticks sums{0, ticks[3] + ticks[4], ticks[7], ticks[6]};
  for (const double count : ticks) sums.total += count;
  return sums;
}

CpuShares CpuWatch::since_start() const {
  const Ticks now = read();
  const double total = now.total - start_.total;
  if (total <= 0) return {};
  return {1 - (now.idle - start_.idle) / total, (now.stolen - start_.stolen) / total,
          (now.softirq - start_.softirq) / total};
}

}  // namespace shardsim
