#include "validate/execute/meet/rank_list.h"

#include <fmt/format.h>

#include "base/text.h"

namespace shardsim {
namespace {

// Runs of three and more as "1 to 3", others one by one.
std::vector<std::string> runs_of(const std::vector<int>& ranks) {
  std::vector<std::string> runs;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    if (end - i < 3) end = i + 1;
    runs.push_back(end - i == 1 ? fmt::format("{}", ranks[i]) : fmt::format("{} to {}", ranks[i], ranks[end - 1]));
    i = end;
  }
  return runs;
}

}  // namespace

std::string rank_list(const std::vector<int>& ranks) {
  std::vector<std::string> runs = runs_of(ranks);
  if (runs.empty()) return "no rank";
  const std::string last = runs.back();
  runs.pop_back();
  return fmt::format("{} {}{}{}", ranks.size() == 1 ? "rank" : "ranks", join(runs), runs.empty() ? "" : " and ", last);
}

}  // namespace shardsim
