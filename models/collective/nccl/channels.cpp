#include <algorithm>
#include <cmath>

#include "models/collective/nccl/graph.h"

namespace shardsim {
namespace {

constexpr double kRounding = 1e-9;  // 240 / 40 is 6, whatever the last bit says

// A domain of dozens of GPUs leaves a head less than the least listed speed, and yet runs NVLS: 72 GB200 reach 839 GB/s
// of bus bandwidth (coreweave/nccl-tests PR 43), which rings over their ports of 722 cannot. All heads together are
// taken to have what those of a host of eight have.
constexpr int kHeadsOfHost = 8;

// MAXCHANNELS / 2: 32 in 2.14, 64 in 2.30 (NVIDIA/nccl src/include/device.h).
int most_channels(NcclEra era) {
  return era == NcclEra::v2_14 ? 16 : 32;
}

int fitting(const std::vector<double>& widths, double speed, int most) {
  double sum = 0;
  for (double width : widths) sum += std::floor(std::min(width / speed + kRounding, static_cast<double>(most)));
  return static_cast<int>(std::min(sum, static_cast<double>(most)));
}

int channels_at(double speed, const std::vector<double>& orders, const RingLimits& limits, int most) {
  int count = most;
  if (!orders.empty()) count = fitting(orders, speed, count);
  if (!limits.nics.empty()) count = fitting(limits.nics, speed, count);
  return count;
}

// The channels of one speed, in the order in which NCCL tries them. Rings that change NICs come in pairs, of which each
// leaves by the NIC of the other one, so that both stay on their rails.
std::vector<NcclChannels> channels_of(double speed, const RingLimits& limits, int most) {
  std::vector<NcclChannels> found;
  if (!limits.only_crossing) found.push_back({channels_at(speed, limits.orders, limits, most), speed, speed});
  if (limits.crossing.empty()) return found;
  const int crossing = channels_at(speed, limits.crossing, limits, most);
  found.push_back({crossing > 1 ? crossing / 2 * 2 : crossing, speed, speed, true});
  return found;
}

// Up to 2.19 rings that keep their NIC count 15 % more (ncclTopoCompareGraphs of 2.19.3); from 2.20.3 on the faster
// ones win.
bool is_better(const NcclChannels& found, const NcclChannels& best, NcclEra era) {
  const double keeps_its_nic = era == NcclEra::v2_14 ? .15 : 0;
  const int less_crossing = static_cast<int>(best.crosses) - static_cast<int>(found.crosses);
  return found.total(false) > best.total(false) * (1 - less_crossing * keeps_its_nic);
}

// Channels of 25 GB/s or more are split in two; above sm80, 2.30 leaves more than 4 slower than 50 as they are.
NcclChannels doubled(NcclChannels found, int capability, NcclEra era) {
  const bool enough = era == NcclEra::v2_30 && capability > 80 && found.bw_intra < 50 && found.count > 4;
  if (found.bw_intra < 25 || enough) return found;
  const int count = std::min(2 * found.count, most_channels(era));
  const int parts = (count + found.count - 1) / found.count;
  return {count, found.bw_intra / parts, found.bw_inter / parts, found.crosses};
}

double first_speed(std::span<const double> speeds, double width) {
  const auto fits = [&](double speed) { return speed <= width * (1 + kRounding); };
  const auto found = std::find_if(speeds.begin(), speeds.end(), fits);
  return found == speeds.end() ? 0 : *found;
}

}  // namespace

NcclChannels search_channels(const RingLimits& limits, int capability, NcclEra era) {
  NcclChannels best;
  for (double speed : nccl_speeds(capability, era, !limits.nics.empty())) {
    if (speed > limits.widest * (1 + kRounding)) continue;
    if (best.count > 0 && speed / best.bw_inter <= .49) break;
    for (const NcclChannels& found : channels_of(speed, limits, most_channels(era))) {
      if (best.total(false) < limits.gpu_total && is_better(found, best, era)) best = found;
    }
    if (best.total(false) >= limits.gpu_total) break;
  }
  return best.count == 0 ? best : doubled(best, capability, era);
}

NcclChannels nvls_channels(int heads, const RingLimits& limits, int capability, NcclEra era) {
  if (era == NcclEra::v2_14 || capability < 90 || heads < 2) return {};
  const auto speeds = nccl_speeds(capability, era, !limits.nics.empty());
  const double inter = first_speed(speeds, limits.widest);
  const auto intra_of = [&](int sharing) {
    return first_speed(speeds, std::min(inter, limits.gpu_total / (sharing + 1)));
  };
  const double intra = intra_of(heads);
  if (intra > 0) return {heads, intra, inter};
  const double of_host = intra_of(kHeadsOfHost);
  if (heads <= kHeadsOfHost || of_host == 0 || !limits.nics.empty()) return {};
  const double part = static_cast<double>(kHeadsOfHost) / heads;
  return {heads, part * of_host, part * inter};
}

double nvls_speed_of_links(int heads, const RingLimits& limits, int capability, NcclEra era) {
  if (era == NcclEra::v2_14 || capability < 90 || heads < 2) return 0;
  return first_speed(nccl_speeds(capability, era, false), limits.gpu_total / (heads + 1));
}

}  // namespace shardsim
