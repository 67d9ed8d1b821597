#include <algorithm>
#include <unordered_map>

#include "plan/torchrec/search/proposer.h"

namespace shardsim::torchrec {
namespace {

// One proposal per sharding type that every table allows.
class Uniform : public Proposer {
 public:
  Uniform(const SearchSpace& space, bool use_depth) {
    const std::size_t tables = options_by_table(space.options).size();
    for (const ShardingType type : types_of(space)) {
      Proposal best;
      for (Proposal& options : tables_with(space, type)) {
        sort_by_score(options, use_depth);
        best.push_back(options.front());
      }
      if (best.size() == tables) proposals_.push_back(std::move(best));
    }
  }

  const Proposal* propose() override { return next_ < proposals_.size() ? &proposals_[next_] : nullptr; }
  void feedback(const Feedback&) override { ++next_; }

 private:
  static std::vector<ShardingType> types_of(const SearchSpace& space) {
    std::vector<ShardingType> types;
    for (const ShardingOption& option : space.options) {
      if (std::find(types.begin(), types.end(), option.type) == types.end()) types.push_back(option.type);
    }
    return types;
  }

  // The tables in the order in which the type first appears for them.
  static std::vector<Proposal> tables_with(const SearchSpace& space, ShardingType type) {
    std::unordered_map<int, std::size_t> place;
    std::vector<Proposal> tables;
    for (const ShardingOption& option : space.options) {
      if (option.type != type) continue;
      const auto [found, added] = place.try_emplace(option.table, tables.size());
      if (added) tables.emplace_back();
      tables[found->second].push_back(&option);
    }
    return tables;
  }

  std::vector<Proposal> proposals_;
  std::size_t next_ = 0;
};

}  // namespace

std::unique_ptr<Proposer> make_uniform_proposer(const SearchSpace& space, bool use_depth) {
  return std::make_unique<Uniform>(space, use_depth);
}

}  // namespace shardsim::torchrec
