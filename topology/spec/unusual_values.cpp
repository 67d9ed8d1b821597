#include "topology/spec/unusual_values.h"

#include <fmt/format.h>

#include "topology/spec/gpu_models.h"

namespace shardsim {
namespace {

constexpr double kTimesMost = 2, kOfLeast = 0.1;

// The ends of what is sold, in bytes or bytes per second, with the products that have them.
struct Sold {
  const char* key;
  const char* unit;
  double unit_worth;
  double least;
  const char* least_source;
  double most;
  const char* most_source;
};

constexpr double kGbit = 1e9 / 8, kGiB = 1 << 30;
constexpr Sold kNics = {"nics.rate",
                        "Gbit/s",
                        kGbit,
                        10 * kGbit,
                        "10 Gbit/s Ethernet",
                        800 * kGbit,
                        "ConnectX-8 SuperNIC, data sheet of NVIDIA"};
constexpr Sold kMemory = {
    "gpu.hbm", "GiB", kGiB, 16 * kGiB, "T4, data sheet of NVIDIA", 288 * kGiB, "B300, data sheet of NVIDIA"};
constexpr Sold kMemoryRate = {"gpu.hbm_bandwidth",         "GB/s", 1e9, 320e9, "T4, data sheet of NVIDIA", 8e12,
                              "B300, data sheet of NVIDIA"};

void add(std::vector<std::string>& sentences, const Sold& sold, double value, bool is_product) {
  const auto in_unit = [&](double amount) { return fmt::format("{:.4g} {}", amount / sold.unit_worth, sold.unit); };
  const bool is_large = value > kTimesMost * sold.most;
  if (!is_large && (!is_product || value >= kOfLeast * sold.least)) return;
  sentences.push_back(fmt::format("The cluster's {} is {}, and the {} sold is {} ({}). Was that meant?", sold.key,
                                  in_unit(value), is_large ? "most" : "least",
                                  in_unit(is_large ? sold.most : sold.least),
                                  is_large ? sold.most_source : sold.least_source));
}

}  // namespace

std::vector<std::string> unusual_values(const ClusterSpec& spec) {
  std::vector<std::string> sentences;
  if (spec.device == "cpu") return sentences;
  const bool is_product = known_gpu_model(spec.gpu.model) != nullptr;
  if (spec.nics && spec.nodes > 1) add(sentences, kNics, spec.nics->rate.bytes_per_second, is_product);
  add(sentences, kMemory, static_cast<double>(spec.gpu.hbm.count), is_product);
  add(sentences, kMemoryRate, spec.gpu.hbm_bandwidth.bytes_per_second, is_product);
  return sentences;
}

}  // namespace shardsim
