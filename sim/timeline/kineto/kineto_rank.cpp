#include "sim/timeline/kineto/kineto_rank.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "base/text.h"

namespace shardsim {

std::optional<std::int64_t> rank_in_name(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename().string();
  const std::size_t at = name.rfind("rank");
  if (at == std::string::npos) return std::nullopt;
  const std::size_t digits = name.find_first_of("0123456789", at);
  if (digits == std::string::npos || digits > at + 5) return std::nullopt;
  std::int64_t rank = 0;
  const auto [end, failed] = std::from_chars(name.data() + digits, name.data() + name.size(), rank);
  return failed == std::errc() ? std::optional(rank) : std::nullopt;
}

std::vector<int> members_in(const std::string& text, int world_size) {
  if (!text.starts_with('[') || !text.ends_with(']') || text.find("..") != std::string::npos) return {};
  std::vector<int> members;
  for (const std::string& part : split(text.substr(1, text.size() - 2), ',')) {
    const std::size_t first = part.find_first_not_of(' ');
    int rank = -1;
    if (first != std::string::npos) std::from_chars(part.data() + first, part.data() + part.size(), rank);
    if (rank < 0 || rank >= world_size) return {};
    members.push_back(rank);
  }
  return members;
}

KinetoRank::KinetoRank(const KinetoTrace& trace) : trace_(trace), steps_(trace.steps), comms_(trace.comms) {
  const auto by_start = [](const auto& a, const auto& b) { return a.start_us < b.start_us; };
  std::stable_sort(steps_.begin(), steps_.end(), by_start);
  std::stable_sort(comms_.begin(), comms_.end(), by_start);
  for (const KinetoTrace::Comms& comms : comms_)
    if (comms.external_id >= 0) by_id_.try_emplace(comms.external_id, &comms);
}

std::optional<int> KinetoRank::iteration_of(const KinetoTrace::Kernel& kernel) const {
  if (steps_.empty()) return 0;
  const double us = launch_us(kernel);
  auto after = std::upper_bound(steps_.begin(), steps_.end(), us,
                                [](double at, const KinetoTrace::Step& step) { return at < step.start_us; });
  if (after == steps_.begin()) return std::nullopt;
  --after;
  return us < after->end_us ? std::optional(after->number) : std::nullopt;
}

TracedCollective KinetoRank::collective_of(const KinetoTrace::Kernel& kernel) const {
  if (kernel.collective.known()) return kernel.collective;
  const auto known = by_id_.find(kernel.external_id);
  if (known != by_id_.end()) return known->second->collective;
  const auto launch = trace_.launches.find(kernel.correlation);
  if (launch == trace_.launches.end()) return {};
  const double us = launch->second.start_us;
  auto after = std::upper_bound(comms_.begin(), comms_.end(), us,
                                [](double at, const KinetoTrace::Comms& comms) { return at < comms.start_us; });
  // The innermost of those that nest begins last; more than a few in a row do not.
  for (int looked = 0; after != comms_.begin() && looked < 16; ++looked) {
    --after;
    if (after->thread == launch->second.thread && us <= after->end_us) return after->collective;
  }
  return {};
}

double KinetoRank::launch_us(const KinetoTrace::Kernel& kernel) const {
  const auto launch = trace_.launches.find(kernel.correlation);
  return launch == trace_.launches.end() ? kernel.start_us : launch->second.start_us;
}

}  // namespace shardsim
