#include "study/result/rank_classes.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <unordered_map>

#include "study/result/result.h"
#include "topology/spec/cluster_spec.h"
#include "topology/spec/rank_set.h"

namespace shardsim {
namespace {

constexpr std::size_t kManyRanks = 256;     // of fewer even long lists are read one by one
constexpr std::size_t kLongLists = 16'384;  // numbers of all lists of a case: some 200 KB of text
constexpr std::size_t kFewestAlike = 8;     // ranks of a class, on average: of fewer the lists are as short

// A class and the bits of a number that some of its ranks have.
struct Alike {
  int of_class = 0;
  std::uint64_t number = 0;
  bool operator==(const Alike&) const = default;
};

struct AlikeHash {
  std::size_t operator()(const Alike& alike) const {
    return (alike.number + static_cast<std::uint64_t>(alike.of_class)) * 0x9e3779b97f4a7c15U >> 16U;
  }
};

std::vector<std::int64_t> simulated_bytes(const CaseResult& result) {
  std::vector<std::int64_t> bytes;
  for (const MemoryPeak& peak : result.memory_profile.ranks) bytes.push_back(peak.bytes());
  return bytes;
}

std::size_t numbers_of_ranks(const CaseResult& result) {
  std::size_t count = result.memory_per_rank.size() + result.memory_profile.ranks.size();
  if (result.loads) count += (2 + result.loads->tables.size()) * result.loads->lookups.size();
  for (const PlacementSummary& placement : result.placements) count += placement.ranks.size();
  return count;
}

}  // namespace

RankClasses::RankClasses(const std::vector<std::string>& texts, const Place& place) {
  std::vector<std::vector<int>> ranks;
  std::size_t count = 0;
  for (const std::string& text : texts) count += ranks.emplace_back(read_rank_sets(text, kMostRanks, place)).size();
  of_rank_.assign(count, -1);
  for (std::size_t of_class = 0; of_class < ranks.size(); ++of_class) {
    first_.push_back(std::ranges::min(ranks[of_class]));
    for (const int rank : ranks[of_class]) {
      if (static_cast<std::size_t>(rank) < count && of_rank_[static_cast<std::size_t>(rank)] < 0) {
        of_rank_[static_cast<std::size_t>(rank)] = static_cast<int>(of_class);
        continue;
      }
      throw input_error(place, fmt::format("rank {} is in two classes, or a rank below it is in none", rank),
                        "Name each rank from 0 on in one class");
    }
  }
}

template <typename Number>
void RankClasses::tell_apart(const std::vector<Number>& list, std::size_t most) {
  if (of_rank_.empty()) {
    of_rank_.assign(list.size(), 0);
    first_.assign(std::min<std::size_t>(list.size(), 1), 0);
  }
  if (list.size() != of_rank_.size()) return;
  std::unordered_map<Alike, int, AlikeHash> classes;
  std::vector<int> of_rank, first;
  of_rank.reserve(list.size());
  for (std::size_t rank = 0; rank < list.size(); ++rank) {
    const Alike alike{of_rank_[rank], std::bit_cast<std::uint64_t>(list[rank])};
    const auto [known, is_new] = classes.try_emplace(alike, static_cast<int>(first.size()));
    if (is_new && first.size() == most) return;
    if (is_new) first.push_back(static_cast<int>(rank));
    of_rank.push_back(known->second);
  }
  of_rank_ = std::move(of_rank);
  first_ = std::move(first);
}

std::vector<std::string> RankClasses::texts() const {
  std::vector<std::vector<int>> ranks(size());
  for (std::size_t rank = 0; rank < of_rank_.size(); ++rank)
    ranks[static_cast<std::size_t>(of_rank_[rank])].push_back(static_cast<int>(rank));
  std::vector<std::string> texts;
  for (const std::vector<int>& of_class : ranks) texts.push_back(rank_sets_text(of_class));
  return texts;
}

template <typename Number>
std::optional<std::vector<Number>> RankClasses::by_class(const std::vector<Number>& list) const {
  if (list.empty() || list.size() != of_rank_.size()) return std::nullopt;
  std::vector<Number> numbers;
  for (const int rank : first_) numbers.push_back(list[static_cast<std::size_t>(rank)]);
  for (std::size_t rank = 0; rank < list.size(); ++rank)
    if (list[rank] != numbers[static_cast<std::size_t>(of_rank_[rank])]) return std::nullopt;
  return numbers;
}

template <typename Number>
std::vector<Number> RankClasses::by_rank(const std::vector<Number>& numbers, const Place& place) const {
  if (numbers.size() != size()) {
    throw input_error(place, fmt::format("{} numbers for {} classes of ranks", numbers.size(), size()),
                      "Write one for each text of 'rank_classes'");
  }
  std::vector<Number> list;
  for (const int of_class : of_rank_) list.push_back(numbers[static_cast<std::size_t>(of_class)]);
  return list;
}

template void RankClasses::tell_apart(const std::vector<double>&, std::size_t);
template void RankClasses::tell_apart(const std::vector<std::int64_t>&, std::size_t);
template std::optional<std::vector<double>> RankClasses::by_class(const std::vector<double>&) const;
template std::optional<std::vector<std::int64_t>> RankClasses::by_class(const std::vector<std::int64_t>&) const;
template std::vector<double> RankClasses::by_rank(const std::vector<double>&, const Place&) const;
template std::vector<std::int64_t> RankClasses::by_rank(const std::vector<std::int64_t>&, const Place&) const;

bool is_large(const CaseResult& result) {
  return result.memory_per_rank.size() > kManyRanks && numbers_of_ranks(result) > kLongLists;
}

RankClasses rank_classes(const CaseResult& result) {
  RankClasses classes;
  if (!is_large(result)) return classes;
  const std::size_t most = result.memory_per_rank.size() / kFewestAlike;
  classes.tell_apart(result.memory_per_rank, most);
  classes.tell_apart(simulated_bytes(result), most);
  if (!result.loads) return classes;
  classes.tell_apart(result.loads->lookups, most);
  classes.tell_apart(result.loads->distinct_rows, most);
  for (const RankLoads::OfTable& of : result.loads->tables) classes.tell_apart(of.lookups, most);
  return classes;
}

}  // namespace shardsim
