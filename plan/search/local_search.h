#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <vector>

#include "base/rng.h"
#include "plan/search/table_choice.h"

namespace shardsim::search {

// Weights of a table that are held on ranks that did not hold them before, in bytes. Rows of equal tiers over different
// numbers of shards are compared block by block; tiers that differ have nothing in common.
double moved_bytes(const std::vector<Placement>& now, const std::vector<Placement>& before, const Table& table);

struct LocalSearchLimits {
  std::int64_t evaluations = 0;                // of the closed form, in all
  std::optional<double> max_moved;             // bytes, compared with `before`
  std::vector<std::vector<Placement>> before;  // [table], where max_moved is given
  std::function<bool()> stop;                  // asked now and then
};

// A plan that is changed table by table as long as the closed form of its iteration falls. A plan over memory counts as
// slower than any that fits, and the more so the more bytes it is over.
class LocalSearch {
 public:
  LocalSearch(const Workload& workload, const Cluster& cluster, TableChoices& choices, IterationCost& cost,
              LocalSearchLimits limits);

  void begin(std::vector<Choice> plan);
  const std::vector<Choice>& plan() const { return plan_; }
  double seconds() const { return seconds_; }                                 // of an iteration
  double fullest() const { return std::ranges::max(memory_) + everywhere_; }  // bytes of a rank, by the memory model
  const std::vector<std::size_t>& heaviest() const { return heaviest_; }      // tables, by what they read and write
  bool fits() const { return over_ <= 0 && moves_within(); }

  // Places every table anew, the busiest first, each where the iteration is shortest so far.
  void rebuild(const std::vector<Strategy>& types);
  // Until no change of one table, and no exchange of two pieces, helps, or the evaluations are used up.
  void descend(const std::vector<Strategy>& types, std::int64_t evaluations);
  // Moves what the fullest rank holds to others, as long as an iteration takes at most `seconds`.
  void relieve(double seconds, std::int64_t evaluations);
  // From now on a plan may take this much less of each rank; the present one is judged anew.
  void leave_room(double bytes);
  // Simulated annealing: changes at random, of which also those that cost time are kept, ever fewer of them. Ends with
  // the best plan met.
  void anneal(std::int64_t evaluations, Rng& rng);

  std::int64_t evaluations() const { return evaluations_; }  // so far
  void allow(std::int64_t more) { limits_.evaluations = evaluations_ + more; }
  bool stopped() const { return stopped_; }

 private:
  struct Score {
    double over = 0, value = 0;
    bool operator<(const Score& other) const { return over != other.over ? over < other.over : value < other.value; }
  };

  void put(std::size_t table, int times);
  void put_memory(const PieceLoad& load, const Shift& shift, int times);
  Score score();
  bool better(const Score& now, const Score& before) const;
  bool spent(std::int64_t until) const { return stopped_ || evaluations_ >= until; }
  bool moves_within() const { return !limits_.max_moved || moved_ <= *limits_.max_moved; }
  double moved_of(std::size_t table, const Choice& choice) const;
  void replace(std::size_t table, Choice choice);
  bool improve(std::size_t table, const std::vector<Strategy>& types);
  bool swap_pieces(std::int64_t until);
  bool relieve_one(std::size_t table, std::size_t fullest, double seconds);
  std::vector<Choice> roomier(std::size_t table, int fullest);
  bool try_swap(std::size_t one, std::size_t piece, std::size_t other, std::size_t with);
  std::vector<Choice> alternatives(std::size_t table, const std::vector<Strategy>& types);
  void add_whole(std::size_t table, Strategy type, int kernel, std::vector<Choice>& made);
  void add_columns(std::size_t table, Strategy type, int kernel, std::vector<Choice>& made);
  void add_moves(std::size_t table, std::vector<Choice>& made);
  std::vector<int> idle_ranks() const;  // least busy first
  std::vector<int> idle_nodes() const;
  void sort_by_weight();
  std::vector<std::size_t> on_busiest() const;
  void rebuild_sums();
  struct Undo {
    std::size_t table = 0;
    Choice choice;
  };
  bool change_at_random(Rng& rng, std::vector<Undo>& undo);
  bool place_at_random(std::size_t table, std::optional<Strategy> type, Rng& rng, std::vector<Undo>& undo);
  bool move_at_random(std::size_t table, Rng& rng, std::vector<Undo>& undo);
  bool convert_at_random(Rng& rng, std::vector<Undo>& undo);
  Choice random_choice(std::size_t table, Strategy type, Rng& rng);
  std::vector<int> random_places(const std::vector<int>& idle, std::size_t count, Rng& rng) const;
  bool can_have(std::size_t table, Strategy type) const;
  Choice sliced(std::size_t table, Strategy type, int kernel, const std::vector<int>& places, std::size_t slices);

  const Workload& workload_;
  const Cluster& cluster_;
  TableChoices& choices_;
  IterationCost& cost_;
  LocalSearchLimits limits_;
  double capacity_;  // bytes of each rank that a plan may take by the memory model
  std::vector<Choice> plan_;
  std::vector<std::size_t> heaviest_;  // tables, by what they read and write
  std::vector<double> memory_, host_, moved_by_;
  double everywhere_ = 0;  // of memory, on every rank
  double moved_ = 0, over_ = 0, seconds_ = 0;
  std::vector<double> busy_;  // of the plan as it was last accepted
  Score now_;
  std::int64_t evaluations_ = 0;
  bool stopped_ = false;
};

}  // namespace shardsim::search
