#include "validate/execute/meet/failure_cause.h"

#include <fmt/format.h>

#include <algorithm>

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

std::string rank_list(std::vector<int> ranks) {
  std::ranges::sort(ranks);
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());  // clang 14 knows no ranges::unique
  std::vector<std::string> runs = runs_of(ranks);
  if (runs.empty()) return "no rank";
  const std::string last = runs.back();
  runs.pop_back();
  return fmt::format("{} {}{}{}", ranks.size() == 1 ? "rank" : "ranks", join(runs), runs.empty() ? "" : " and ", last);
}

namespace {

std::string with_last(std::string text, const std::string& last_known) {
  return last_known.empty() ? text : fmt::format("{} {}", text, last_known);
}

}  // namespace

void FailureCause::begin() {
  if (!trouble()) since_ = Clock::now();
}

void FailureCause::died(int rank, const std::string& last_known) {
  begin();
  deaths_.emplace(rank, last_known);
}

void FailureCause::silent(int rank, double seconds, const std::string& last_known) {
  reported(with_last(fmt::format("rank {} has not been heard of for {:g} s, last", rank, seconds),
                     last_known.empty() ? "before it said what it does" : last_known));
}

void FailureCause::reported(const std::string& text) {
  begin();
  reports_.push_back(text);
}

std::string FailureCause::text() const {
  if (deaths_.empty()) return reports_.empty() ? "" : reports_.front();
  std::vector<int> ranks;
  for (const auto& [rank, doing] : deaths_) ranks.push_back(rank);
  return with_last(fmt::format("{} died", rank_list(ranks)), deaths_.begin()->second);
}

std::string report_text(int rank, const std::string& why, const std::string& doing) {
  return doing.empty() ? fmt::format("rank {} failed: {}", rank, why)
                       : fmt::format("rank {} failed during {}: {}", rank, doing, why);
}

}  // namespace shardsim
