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

int channels_at(double speed, const RingLimits& limits, int most) {
  int count = most;
  if (!limits.orders.empty()) count = fitting(limits.orders, speed, count);
  if (!limits.nics.empty()) count = fitting(limits.nics, speed, count);
  return count;
}

// Channels of 25 GB/s or more are split in two; above sm80, 2.30 leaves more than 4 slower than 50 as they are.
NcclChannels doubled(NcclChannels found, int capability, NcclEra era) {
  const bool enough = era == NcclEra::v2_30 && capability > 80 && found.bw_intra < 50 && found.count > 4;
  if (found.bw_intra < 25 || enough) return found;
  const int count = std::min(2 * found.count, most_channels(era));
  const int parts = (count + found.count - 1) / found.count;
  return {count, found.bw_intra / parts, found.bw_inter / parts};
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
    const int count = channels_at(speed, limits, most_channels(era));
    if (count * speed > best.total(false)) best = {count, speed, speed};
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
