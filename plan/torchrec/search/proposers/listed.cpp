#include <algorithm>

#include "plan/torchrec/search/proposer.h"

namespace shardsim::torchrec {
namespace {

// Every combination of options, unless there are too many: then none. The last table changes fastest.
class GridSearch : public Proposer {
 public:
  GridSearch(const SearchSpace& space, double max_proposals)
      : tables_(options_by_table(proposal_of(space.options))), index_(tables_.size(), 0) {
    double combinations = 1;
    for (Proposal& options : tables_) {
      sort_by_score(options, true);
      combinations *= static_cast<double>(options.size());
      proposal_.push_back(options.front());
    }
    done_ = tables_.empty() || combinations > max_proposals;
  }

  void advance() override {
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
};

// One proposal per sharding type that every table allows.
class Uniform : public Proposer {
 public:
  Uniform(const SearchSpace& space, bool use_depth) {
    std::vector<ShardingType> types;
    for (const ShardingOption& option : space.options) {
      if (std::ranges::find(types, option.type) == types.end()) types.push_back(option.type);
    }
    const Proposal all = proposal_of(space.options);
    const std::size_t tables = options_by_table(all).size();
    for (const ShardingType type : types) {
      Proposal of_type = all, best;
      std::erase_if(of_type, [type](const ShardingOption* option) { return option->type != type; });
      for (Proposal& options : options_by_table(of_type)) {
        sort_by_score(options, use_depth);
        best.push_back(options.front());
      }
      if (best.size() == tables) proposals_.push_back(std::move(best));
    }
    advance();
  }

  void advance() override {
    done_ = next_ == proposals_.size();
    if (!done_) proposal_ = proposals_[next_++];
  }

 private:
  std::vector<Proposal> proposals_;
  std::size_t next_ = 0;
};

// Proposes for each table the fastest option with a cache, or the same table held in device memory where that takes
// less; the fastest option where none has a cache.
class Offload : public Proposer {
 public:
  Offload(const SearchSpace& space, const Topology& topology, const EstimateSettings& settings) {
    for (Proposal& options : options_by_table(proposal_of(space.options))) {
      sort_by_score(options, true);
      const auto cached = std::ranges::find(options, ComputeKernel::fused_uvm_caching, &ShardingOption::kernel);
      options_.push_back(cached == options.end() ? *options.front() : **cached);
      if (cached != options.end()) hold_where_smaller(options_.back(), space, topology, settings);
    }
    proposal_ = proposal_of(options_);
    done_ = proposal_.empty();
  }

  void advance() override { done_ = true; }

 private:
  static void hold_where_smaller(ShardingOption& option, const SearchSpace& space, const Topology& topology,
                                 const EstimateSettings& settings) {
    TableSpec table = space.table_of(option);
    table.cache_load_factor.reset();
    table.sharder_cache_load_factor.reset();
    ShardingOption fused = estimate_option(table, option.table, option.type, ComputeKernel::fused, topology, settings);
    if (fused.total.hbm < option.total.hbm) option = std::move(fused);
  }

  std::vector<ShardingOption> options_;
};

}  // namespace

std::unique_ptr<Proposer> make_grid_search_proposer(const SearchSpace& space, double max_proposals) {
  return std::make_unique<GridSearch>(space, max_proposals);
}

std::unique_ptr<Proposer> make_uniform_proposer(const SearchSpace& space, bool use_depth) {
  return std::make_unique<Uniform>(space, use_depth);
}

std::unique_ptr<Proposer> make_offload_proposer(const SearchSpace& space, const Topology& topology,
                                                const EstimateSettings& settings) {
  return std::make_unique<Offload>(space, topology, settings);
}

}  // namespace shardsim::torchrec
