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

}  // namespace

std::unique_ptr<Proposer> make_grid_search_proposer(const SearchSpace& space, double max_proposals) {
  return std::make_unique<GridSearch>(space, max_proposals);
}

}  // namespace shardsim::torchrec
