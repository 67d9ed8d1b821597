#include <algorithm>
#include <unordered_map>

#include "plan/torchrec/search/proposer.h"

namespace shardsim::torchrec {
namespace {

// Every combination of options, unless there are too many: then none. The last table changes fastest.
class GridSearch : public Proposer {
 public:
  GridSearch(const SearchSpace& space, double max_proposals)
      : tables_(options_by_table(space.options)), index_(tables_.size(), 0) {
    double combinations = 1;
    for (Proposal& options : tables_) {
      sort_by_score(options, true);
      combinations *= static_cast<double>(options.size());
      proposal_.push_back(options.front());
    }
    done_ = tables_.empty() || combinations > max_proposals;
  }

  const Proposal* propose() override { return done_ ? nullptr : &proposal_; }

  void feedback(const Feedback&) override {
    for (std::size_t t = tables_.size(); t-- > 0;) {
      index_[t] = (index_[t] + 1) % tables_[t].size();
      proposal_[t] = tables_[t][index_[t]];
      if (index_[t] != 0) return;
    }
    done_ = true;
  }

 private:
  std::vector<Proposal> tables_;
  std::vector<std::size_t> index_;
  Proposal proposal_;
  bool done_ = false;
};

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

std::unique_ptr<Proposer> make_grid_search_proposer(const SearchSpace& space, double max_proposals) {
  return std::make_unique<GridSearch>(space, max_proposals);
}

std::unique_ptr<Proposer> make_uniform_proposer(const SearchSpace& space, bool use_depth) {
  return std::make_unique<Uniform>(space, use_depth);
}

}  // namespace shardsim::torchrec
