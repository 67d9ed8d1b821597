#include "plan/torchrec/search/search_space.h"

#include <algorithm>
#include <unordered_map>

namespace shardsim::torchrec {

std::vector<Proposal> options_by_table(const std::vector<ShardingOption>& options) {
  std::unordered_map<int, std::size_t> place;
  std::vector<Proposal> tables;
  for (const ShardingOption& option : options) {
    const auto [found, added] = place.try_emplace(option.table, tables.size());
    if (added) tables.emplace_back();
    tables[found->second].push_back(&option);
  }
  return tables;
}

void sort_by_score(Proposal& options, bool use_depth) {
  std::stable_sort(options.begin(), options.end(), [use_depth](const ShardingOption* a, const ShardingOption* b) {
    return use_depth ? a->depth < b->depth : a->sum < b->sum;
  });
}

Storage total_storage(const Proposal& proposal) {
  Storage total;
  for (const ShardingOption* option : proposal) total += option->total;
  return total;
}

}  // namespace shardsim::torchrec
