#include <algorithm>
#include <limits>

#include "plan/torchrec/search/proposer.h"
#include "plan/torchrec/spec/names.h"

namespace shardsim::torchrec {
namespace {

constexpr double kUnreached = std::numeric_limits<double>::infinity();

// Least summed time for every amount of device memory, in bins, over all ranks together.
class DynamicProgramming : public Proposer {
 public:
  DynamicProgramming(const SearchSpace& space, const Topology& topology, int bins_per_device)
      : bins_(static_cast<std::size_t>(bins_per_device) * topology.devices.size()) {
    Proposal sorted = proposal_of(space.options);
    std::ranges::stable_sort(sorted, {}, [](const ShardingOption* option) { return option->total.hbm; });
    tables_ = options_by_table(sorted);
    for (const Proposal& options : tables_) proposal_.push_back(options.front());
    done_ = tables_.empty();
    if (!done_) fill(topology);
  }

  // From the fullest bin down; each is traced back through the tables.
  void advance() override {
    done_ = ends_.empty();
    if (done_) return;
    int bin = ends_.back();
    ends_.pop_back();
    for (std::size_t t = tables_.size(); t-- > 0;) {
      const Step step = steps_[t][static_cast<std::size_t>(bin)];
      proposal_[t] = tables_[t][static_cast<std::size_t>(step.option)];
      bin = step.bin;
    }
  }

 private:
  struct Step {  // how a bin was reached
    int bin = -1, option = -1;
  };
  struct Bins {
    std::vector<double> cost, hbm;  // ms, and memory in bins with its fraction
  };

  void fill(const Topology& topology) {
    const auto hbm = static_cast<double>(capacity_of(topology).hbm);
    if (hbm <= 0) return;
    const double bin_size = hbm / static_cast<double>(bins_);
    Bins reached = nothing_reached();
    reached.cost[0] = 0;
    for (std::size_t t = 0; t < tables_.size(); ++t) reached = next_table(t, reached, bin_size);
    for (std::size_t bin = 0; bin < bins_; ++bin) {
      if (reached.cost[bin] < kUnreached) ends_.push_back(static_cast<int>(bin));
    }
  }

  Bins nothing_reached() const { return {std::vector<double>(bins_, kUnreached), std::vector<double>(bins_, 0)}; }

  Bins next_table(std::size_t table, const Bins& from, double bin_size) {
    steps_.emplace_back(bins_);
    Bins to = nothing_reached();
    for (std::size_t j = 0; j < tables_[table].size(); ++j) {
      const ShardingOption& option = *tables_[table][j];
      const double more = static_cast<double>(option.total.hbm) / bin_size;
      for (std::size_t bin = 0; bin < bins_; ++bin) {
        if (from.cost[bin] == kUnreached) continue;
        improve(to, table, from.hbm[bin] + more, from.cost[bin] + option.sum,
                {static_cast<int>(bin), static_cast<int>(j)});
      }
    }
    return to;
  }

  void improve(Bins& to, std::size_t table, double hbm, double cost, Step step) {
    if (!(hbm < static_cast<double>(bins_))) return;
    const auto bin = static_cast<std::size_t>(hbm);
    if (!(cost < to.cost[bin])) return;
    to.cost[bin] = cost;
    to.hbm[bin] = hbm;
    steps_[table][bin] = step;
  }

  std::size_t bins_;
  std::vector<Proposal> tables_;
  std::vector<std::vector<Step>> steps_;  // by table and bin
  std::vector<int> ends_;                 // reachable bins not proposed yet, ascending
};

}  // namespace

std::unique_ptr<Proposer> make_dynamic_programming_proposer(const SearchSpace& space, const Topology& topology,
                                                            int bins_per_device) {
  return std::make_unique<DynamicProgramming>(space, topology, bins_per_device);
}

}  // namespace shardsim::torchrec
