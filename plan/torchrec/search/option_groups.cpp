#include "plan/torchrec/search/option_groups.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace shardsim::torchrec {
namespace {

void add(OptionGroup& group, const ShardingOption& option, std::size_t position) {
  group.options.push_back(position);
  group.storage += option.total;
  group.perf += option.sum;
}

std::vector<OptionGroup> grouped(const Proposal& proposal, const SearchSpace& space) {
  std::vector<OptionGroup> groups;
  std::unordered_map<std::string, std::size_t> by_dependency;
  for (std::size_t i = 0; i < proposal.size(); ++i) {
    const ShardingOption& option = *proposal[i];
    if (option.partition == PartitionBy::uniform) continue;
    const std::string& dependency = space.table_of(option).dependency;
    std::size_t place = groups.size();
    if (!dependency.empty()) place = by_dependency.try_emplace(dependency, place).first->second;
    if (place == groups.size()) groups.emplace_back();
    add(groups[place], option, i);
  }
  return groups;
}

void count_modules(std::vector<OptionGroup>& groups, const Proposal& proposal, const SearchSpace& space) {
  std::map<std::string, int> counts;
  for (const ShardingOption* option : proposal) ++counts[space.table_of(*option).module];
  for (OptionGroup& group : groups) {
    group.module_options = counts[space.table_of(*proposal[group.options.front()]).module];
  }
}

}  // namespace

std::vector<OptionGroup> option_groups(const Proposal& proposal, const SearchSpace& space,
                                       const PartitionerSettings& settings) {
  std::vector<OptionGroup> groups = grouped(proposal, space);
  if (settings.balance_modules) count_modules(groups, proposal, space);
  const bool by_perf = settings.sort_by_perf;
  std::stable_sort(groups.begin(), groups.end(), [by_perf](const OptionGroup& a, const OptionGroup& b) {
    if (a.module_options != b.module_options) return a.module_options < b.module_options;
    return by_perf ? a.perf > b.perf : a.storage > b.storage;
  });
  return groups;
}

}  // namespace shardsim::torchrec
