#include "plan/torchrec/report/number_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace shardsim::torchrec {

double rounded(double value, int decimals) {
  return std::strtod(fmt::format("{:.{}f}", value, decimals).c_str(), nullptr);
}

std::string decimals_text(double value, int decimals) {
  std::string text = fmt::format("{:.{}f}", value, decimals);
  while (text.ends_with('0') && !text.ends_with(".0")) text.pop_back();
  return text == "-0.0" ? "0.0" : text;
}

double percent(double share) {
  return rounded(share * 100, 0);
}

std::string percent_text(double share) {
  return fmt::format("{:.0f}%", share * 100);
}

double significant(double value, int digits) {
  return std::strtod(fmt::format("{:.{}g}", value, digits).c_str(), nullptr);
}

double part(double ms) {
  return ms >= 1 ? rounded(ms, 0) : significant(ms, 1);
}

std::string perf_cell(const Perf& perf) {
  const auto text = [](double ms) { return fmt::format("{:g}", part(ms)); };
  const auto whole = [&](double ms) { return ms >= 1 ? fmt::format("{:.0f}", ms) : text(ms); };
  return fmt::format("{} ({},{},{},{},{})", decimals_text(perf.total(), 3), whole(perf.fwd_compute),
                     whole(perf.fwd_comms), whole(perf.bwd_compute), whole(perf.bwd_comms),
                     whole(perf.prefetch_compute));
}

std::string rank_text(std::vector<int> ranks) {
  std::sort(ranks.begin(), ranks.end());
  bool consecutive = ranks.size() > 1;
  for (std::size_t i = 1; i < ranks.size(); ++i) consecutive = consecutive && ranks[i] == ranks[i - 1] + 1;
  if (consecutive) return fmt::format("{}-{}", ranks.front(), ranks.back());
  return fmt::format("{}", fmt::join(ranks, ","));
}

}  // namespace shardsim::torchrec
