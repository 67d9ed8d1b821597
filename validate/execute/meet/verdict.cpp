#include "validate/execute/meet/verdict.h"

#include <fmt/format.h>

#include "validate/execute/meet/rank_list.h"

namespace shardsim {
namespace {

std::string with_last(std::string text, const std::string& last_known) {
  return last_known.empty() ? text : fmt::format("{} {}", text, last_known);
}

}  // namespace

void Verdict::begin() {
  if (!trouble()) since_ = Clock::now();
}

void Verdict::died(int rank, const std::string& last_known) {
  begin();
  deaths_.emplace(rank, last_known);
}

void Verdict::silent(int rank, double seconds, const std::string& last_known) {
  reported(with_last(fmt::format("rank {} has not been heard of for {:g} s, last", rank, seconds),
                     last_known.empty() ? "before it said what it does" : last_known));
}

void Verdict::reported(const std::string& text) {
  begin();
  reports_.push_back(text);
}

std::string Verdict::text() const {
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
