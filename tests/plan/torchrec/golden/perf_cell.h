#pragma once

#include <fmt/format.h>

#include <string>

#include "plan/torchrec/report/text.h"

namespace shardsim::torchrec {

// As TorchRec's tables print it: "5.07 (1,0.4,3,0.4,0)".
inline std::string perf_cell(const Perf& perf) {
  const auto text = [](double ms) { return fmt::format("{:g}", part(ms)); };
  const auto whole = [&](double ms) { return ms >= 1 ? fmt::format("{:.0f}", ms) : text(ms); };
  return fmt::format("{} ({},{},{},{},{})", decimals_text(perf.total(), 3), whole(perf.fwd_compute),
                     whole(perf.fwd_comms), whole(perf.bwd_compute), whole(perf.bwd_comms),
                     whole(perf.prefetch_compute));
}

}  // namespace shardsim::torchrec
