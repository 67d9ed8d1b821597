#include <queue>
#include <tuple>

#include "plan/torchrec/search/proposer.h"

namespace shardsim::torchrec {
namespace {

// Starts with the fastest option of every table; then, again and again, the table whose current option takes most
// memory gets its next option.
class Greedy : public Proposer {
 public:
  Greedy(const SearchSpace& space, bool use_depth)
      : tables_(options_by_table(proposal_of(space.options))), next_(tables_.size(), 1) {
    for (std::size_t t = 0; t < tables_.size(); ++t) {
      sort_by_score(tables_[t], use_depth);
      proposal_.push_back(tables_[t].front());
      enqueue(t);
    }
    done_ = proposal_.empty();
  }

  void advance() override {
    done_ = queue_.empty();
    if (done_) return;
    const std::size_t table = queue_.top().table;
    queue_.pop();
    proposal_[table] = tables_[table][next_[table]++];
    enqueue(table);
  }

 private:
  // Memory of a table's current option; the first table comes first among equals.
  struct Candidate {
    std::int64_t hbm, sum_hbm, ddr, sum_ddr;
    std::size_t table;
    bool operator<(const Candidate& other) const {
      const auto mine = std::tie(hbm, sum_hbm, ddr, sum_ddr);
      const auto others = std::tie(other.hbm, other.sum_hbm, other.ddr, other.sum_ddr);
      return mine == others ? table > other.table : mine < others;
    }
  };

  // A table with no further option, or whose option takes no memory, stays as it is.
  void enqueue(std::size_t table) {
    if (next_[table] == tables_[table].size()) return;
    const ShardingOption& now = *proposal_[table];
    const Candidate candidate{now.largest.hbm, now.total.hbm, now.largest.ddr, now.total.ddr, table};
    if (candidate.hbm > 0 || candidate.sum_hbm > 0 || candidate.ddr > 0 || candidate.sum_ddr > 0)
      queue_.push(candidate);
  }

  std::vector<Proposal> tables_;
  std::vector<std::size_t> next_;  // option of each table, by position in tables_
  std::priority_queue<Candidate> queue_;
};

}  // namespace

std::unique_ptr<Proposer> make_greedy_proposer(const SearchSpace& space, bool use_depth) {
  return std::make_unique<Greedy>(space, use_depth);
}

}  // namespace shardsim::torchrec
