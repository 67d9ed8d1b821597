#include <fmt/format.h>

#include <algorithm>

#include "validate/execute/meet/star.h"

namespace shardsim {
namespace {

using Call = Contribution::Call;

constexpr int kCalls = 5;

}  // namespace

std::string packed_contribution(const Contribution& contribution) {
  return packed({std::to_string(static_cast<int>(contribution.call)), contribution.what, contribution.text});
}

std::optional<Contribution> unpacked_contribution(std::string_view text) {
  std::vector<std::string> parts = unpacked(text);
  if (parts.size() != 3 || parts[0].size() != 1 || parts[0][0] < '0' || parts[0][0] >= '0' + kCalls)
    return std::nullopt;
  return Contribution{static_cast<Call>(parts[0][0] - '0'), std::move(parts[1]), std::move(parts[2])};
}

std::string Round::add(int rank, Contribution contribution) {
  if (const Contribution* other = first(); other == nullptr)
    began_ = Clock::now();
  else if (other->call != contribution.call || contributions_[rank])
    return fmt::format("the ranks do different things: '{}' and '{}'", contribution.what, other->what);
  contributions_[rank] = std::move(contribution);
  ++here_;
  return "";
}

std::string Round::result(bool own) const {
  if (call() == Call::from_root) return contributions_[0]->text;
  if (call() != Call::all_gather && !(call() == Call::gather && own)) return "";
  std::vector<std::string> texts;
  for (const auto& contribution : contributions_) texts.push_back(contribution->text);
  return packed(texts);
}

const Contribution* Round::first() const {
  const auto found = std::ranges::find_if(contributions_, [](const auto& one) { return one.has_value(); });
  return found == contributions_.end() ? nullptr : &**found;
}

Call Round::call() const {
  return first()->call;
}

std::string Round::what() const {
  return first() == nullptr ? "" : first()->what;
}

std::vector<int> Round::missing() const {
  std::vector<int> ranks;
  for (std::size_t rank = 0; rank < contributions_.size(); ++rank)
    if (!contributions_[rank]) ranks.push_back(static_cast<int>(rank));
  return ranks;
}

double Round::age() const {
  return here_ == 0 ? 0 : std::chrono::duration<double>(Clock::now() - began_).count();
}

void Round::clear() {
  for (auto& contribution : contributions_) contribution.reset();
  here_ = 0;
}

}  // namespace shardsim
