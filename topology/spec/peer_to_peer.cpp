#include "topology/spec/peer_to_peer.h"

#include <string>

#include "topology/spec/gpu_models.h"

namespace shardsim {

// RTX-4050 to RTX-4090 and RTX-5050 to RTX-5090, with whatever follows ("RTX-4070-Ti"); RTX-4000 and RTX-5000 are
// products for workstations.
bool has_peer_to_peer(std::string_view model) {
  constexpr std::string_view kSeries = "RTX-";
  const std::string plain = plain_gpu_name(model);
  if (!plain.starts_with(kSeries) || plain.size() < kSeries.size() + 4) return true;
  const std::string number = plain.substr(kSeries.size(), 4);
  const bool is_series = number.starts_with("40") || number.starts_with("50");
  return !is_series || number[2] < '5' || number[3] != '0';
}

}  // namespace shardsim
