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
  DynamicProgramming(const SearchSpace& space, int bins_per_device)
      : bins_per_device_(static_cast<std::size_t>(bins_per_device)) {
    Proposal sorted;
    for (const ShardingOption& option : space.options) sorted.push_back(&option);
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const ShardingOption* a, const ShardingOption* b) { return a->total.hbm < b->total.hbm; });
    group(sorted, space.tables.size());
    for (const Proposal& options : tables_) proposal_.push_back(options.front());
    done_ = tables_.empty();
  }

  const Proposal* propose() override { return done_ ? nullptr : &proposal_; }

  void feedback(const Feedback& feedback) override {
    if (!filled_) {
      if (feedback.topology == nullptr) {
        throw PlannerError(PlannerFailure::other, "dynamic programming needs to know the memory of the ranks");
      }
      fill(*feedback.topology);
    }
    follow_next();
  }

 private:
  struct Step {  // how a bin was reached
    int bin = -1, option = -1;
  };
  struct Bins {
    std::vector<double> cost, hbm;  // ms, and memory in bins with its fraction
  };

  void group(const Proposal& sorted, std::size_t tables) {
    std::vector<std::ptrdiff_t> place(tables, -1);
    for (const ShardingOption* option : sorted) {
      auto& at = place.at(static_cast<std::size_t>(option->table));
      if (at < 0) {
        at = static_cast<std::ptrdiff_t>(tables_.size());
        tables_.emplace_back();
      }
      tables_[static_cast<std::size_t>(at)].push_back(option);
    }
  }

  void fill(const Topology& topology) {
    filled_ = true;
    bins_ = bins_per_device_ * topology.devices.size();
    double hbm = 0;
    for (const Storage& device : topology.devices) hbm += static_cast<double>(device.hbm);
    if (hbm <= 0) return;
    const double bin_size = hbm / static_cast<double>(bins_);
    Bins reached{std::vector<double>(bins_, kUnreached), std::vector<double>(bins_, 0)};
    for (std::size_t t = 0; t < tables_.size(); ++t) {
      steps_.emplace_back(bins_);
      reached = t == 0 ? first_table(bin_size) : next_table(t, reached, bin_size);
    }
    for (std::size_t bin = 0; bin < bins_; ++bin) {
      if (reached.cost[bin] < kUnreached) ends_.push_back(static_cast<int>(bin));
    }
  }

  Bins first_table(double bin_size) {
    Bins to{std::vector<double>(bins_, kUnreached), std::vector<double>(bins_, 0)};
    for (std::size_t j = 0; j < tables_[0].size(); ++j) {
      improve(to, 0, static_cast<double>(tables_[0][j]->total.hbm) / bin_size, tables_[0][j]->sum,
              {0, static_cast<int>(j)});
    }
    return to;
  }

  Bins next_table(std::size_t table, const Bins& from, double bin_size) {
    Bins to{std::vector<double>(bins_, kUnreached), std::vector<double>(bins_, 0)};
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

  // From the fullest bin down; each is traced back through the tables.
  void follow_next() {
    if (ends_.empty()) {
      done_ = true;
      return;
    }
    int bin = ends_.back();
    ends_.pop_back();
    for (std::size_t t = tables_.size(); t-- > 0;) {
      const Step step = steps_[t][static_cast<std::size_t>(bin)];
      proposal_[t] = tables_[t][static_cast<std::size_t>(step.option)];
      bin = step.bin;
    }
  }

  std::size_t bins_per_device_, bins_ = 0;
  std::vector<Proposal> tables_;
  Proposal proposal_;
  std::vector<std::vector<Step>> steps_;  // by table and bin
  std::vector<int> ends_;                 // reachable bins not proposed yet, ascending
  bool filled_ = false, done_ = false;
};

}  // namespace

std::unique_ptr<Proposer> make_dynamic_programming_proposer(const SearchSpace& space, int bins_per_device) {
  return std::make_unique<DynamicProgramming>(space, bins_per_device);
}

}  // namespace shardsim::torchrec
