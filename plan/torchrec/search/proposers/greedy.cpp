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
    const auto table = static_cast<std::size_t>(-std::get<4>(queue_.top()));
    queue_.pop();
    proposal_[table] = tables_[table][next_[table]++];
    enqueue(table);
  }

 private:
  // Memory of a table's current option; minus its number, so that the first table comes first among equals.
  using Candidate = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t>;

  // A table with no further option, or whose option takes no memory, stays as it is. An SSD is no memory here.
  void enqueue(std::size_t table) {
    if (next_[table] == tables_[table].size()) return;
    const ShardingOption& now = *proposal_[table];
    if (now.total.hbm == 0 && now.total.ddr == 0) return;
    queue_.emplace(now.largest.hbm, now.total.hbm, now.largest.ddr, now.total.ddr, -static_cast<std::int64_t>(table));
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
