#include "models/workload/pool/task_draw.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <set>

#include "base/rng.h"
#include "base/text.h"
#include "base/units.h"

namespace shardsim {
namespace {

constexpr std::int64_t kMostDraws = 100'000'000;  // of tables, for all tasks together: a second or two
constexpr std::int64_t kStopEvery = 1 << 20;

constexpr double kLeastChance = 1e-6;  // of finding a task in that many draws: below it none is tried

[[noreturn]] void refuse_law(const std::string& option, const std::string& what, const std::string& remedy) {
  throw input_error({option.empty() ? "" : "argument --" + option}, what, remedy);
}

std::string size_text(double bytes) {
  return to_text(Bytes{std::llround(std::min(bytes, 0x1p62))});
}

void check_law(const std::vector<Table>& pool, const TaskLaw& law) {
  if (pool.empty()) refuse_law("", "the pool has no tables", "Name a workload that lists some");
  for (const Table& table : pool) {
    if (table.rows == 0) throw input_error(table.place, "a table of the pool has no rows", "Leave it out");
    if (table.kind == TableKind::sequence)
      throw input_error(table.place,
                        fmt::format("table '{}' of the pool is a sequence, and tasks are of pooled tables", table.name),
                        "Leave it out");
  }
  if (law.tasks < 1) refuse_law("tasks", "no tasks are asked for", "Ask for one or more");
  if (law.least_tables < 1 || law.most_tables < law.least_tables)
    refuse_law("min-tables", fmt::format("tasks of {} to {} tables", law.least_tables, law.most_tables),
               "The least number of tables is 1 or more, and at most that of --max-tables");
  if (law.least_dim < 1 || law.most_dim < law.least_dim || law.most_dim % law.least_dim != 0 ||
      !std::has_single_bit(static_cast<std::uint64_t>(law.most_dim / law.least_dim)))
    refuse_law(law.most_dim < law.least_dim ? "min-dim" : "max-dim",
               fmt::format("dims from {} to {}", law.least_dim, law.most_dim),
               "--max-dim is --min-dim doubled some times, or the same");
  if (!law.replace && law.most_tables > pool.size())
    refuse_law("without-replacement", fmt::format("{} different tables of a pool of {}", law.most_tables, pool.size()),
               "Ask for fewer with --max-tables, or let a task have one twice");
}

// State that all tasks of one call share.
struct DrawsSoFar {
  std::int64_t drawn = 0;          // tables
  std::set<std::size_t> possible;  // numbers of tables for which tasks can be found
};

class TaskDraw {
 public:
  TaskDraw(const std::vector<Table>& pool, const TaskLaw& law, Rng rng, DrawsSoFar& so_far)
      : pool_(pool), law_(law), rng_(rng), left_(pool.size()), so_far_(so_far) {
    std::iota(left_.begin(), left_.end(), std::size_t{0});
  }

  Task draw(const std::function<void()>& check_stop) {
    const std::size_t tables = law_.least_tables + rng_.below(law_.most_tables - law_.least_tables + 1);
    if (so_far_.possible.insert(tables).second) refuse_impossible(tables);
    for (std::int64_t next_stop = 0; so_far_.drawn < kMostDraws;) {
      if (attempt(tables)) return task_;
      if (so_far_.drawn < next_stop || !check_stop) continue;
      check_stop();
      next_stop = so_far_.drawn + kStopEvery;
    }
    refuse_size(fmt::format("no {} tables within {} were found in {} draws, which is the most for all tasks", tables,
                            size_text(law_.most_bytes), with_thousands(kMostDraws)));
  }

 private:
  // One drawing of all tables and dims; false as soon as the weights are too many. Without replacement the tables drawn
  // lie at the front of left_, which is in some order of the pool before and after.
  bool attempt(std::size_t tables) {
    const auto halvings =
        static_cast<std::uint64_t>(std::bit_width(static_cast<std::uint64_t>(law_.most_dim / law_.least_dim)));
    task_.tables.clear();
    task_.dims.clear();
    double bytes = 0;
    for (std::size_t i = 0; i < tables; ++i) {
      ++so_far_.drawn;
      const std::size_t at = law_.replace ? rng_.below(left_.size()) : i + rng_.below(left_.size() - i);
      if (!law_.replace) std::swap(left_[i], left_[at]);
      task_.tables.push_back(left_[law_.replace ? at : i]);
      task_.dims.push_back(law_.least_dim << rng_.below(halvings));
      bytes += bytes_of(task_.tables.back(), task_.dims.back());
      if (law_.most_bytes > 0 && bytes > law_.most_bytes) return false;
    }
    return true;
  }

  double bytes_of(std::size_t table, std::int64_t dim) const {
    return static_cast<double>(pool_[table].rows) * static_cast<double>(dim) * dtype_bytes(law_.dtype);
  }

  [[noreturn]] static void refuse_size(const std::string& what) {
    refuse_law("max-bytes", what, "Allow more bytes, fewer tables (--max-tables) or smaller dims (--max-dim)");
  }

  // Mean of exp(-rate x bytes) over all tables and dims; a dim is twice the one before it, so its power is the square.
  double mean_power(double rate, int dims) const {
    double sum = 0;
    for (std::size_t table = 0; table < pool_.size(); ++table) {
      double power = std::exp(-rate * bytes_of(table, law_.least_dim));
      for (int dim = 0; dim < dims; ++dim, power *= power) sum += power;
    }
    return sum / static_cast<double>(pool_.size()) / dims;
  }

  // Logarithm of an upper bound on the probability that a drawing fits: P(sum <= B) <= e^(rB) E[e^(-rX)]^T for any r >
  // 0 (Chernoff); without replacement it is no larger (Hoeffding 1963, theorem 4). For larger r the powers would
  // underflow.
  double log_chance(std::size_t tables) const {
    constexpr double kMostTimes = 512, kMostRate = 1 << 17;
    const int dims = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(law_.most_dim / law_.least_dim)));
    const double count = static_cast<double>(tables);
    const auto most = static_cast<std::int64_t>(std::min(kMostRate, kMostTimes * count));
    double least = 0;
    for (std::int64_t power = 1; power <= most; power *= 2) {
      const auto rate = static_cast<double>(power);
      least = std::min(least, rate + count * std::log(mean_power(rate / law_.most_bytes, dims)));
    }
    return least;
  }

  // The smallest tables at the smallest dim must fit, and so must enough of the others that they are found.
  void refuse_impossible(std::size_t tables) const {
    if (law_.most_bytes <= 0) return;
    std::vector<double> sizes;
    for (std::size_t table = 0; table < pool_.size(); ++table) sizes.push_back(bytes_of(table, law_.least_dim));
    std::ranges::sort(sizes);
    const double least = law_.replace
                             ? static_cast<double>(tables) * sizes.front()
                             : std::accumulate(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(tables), 0.0);
    if (least > law_.most_bytes)
      refuse_size(fmt::format("{} tables of this pool take {} at least", tables, size_text(least)));
    if (log_chance(tables) + std::log(kMostDraws) < std::log(kLeastChance))
      refuse_size(
          fmt::format("hardly any drawing of {} tables of this pool is within {}", tables, size_text(law_.most_bytes)));
  }

  const std::vector<Table>& pool_;
  const TaskLaw& law_;
  Rng rng_;
  std::vector<std::size_t> left_;
  Task task_;
  DrawsSoFar& so_far_;
};

}  // namespace

std::vector<Task> draw_tasks(const std::vector<Table>& pool, const TaskLaw& law, std::uint64_t seed,
                             const std::function<void()>& check_stop) {
  check_law(pool, law);
  std::vector<Task> tasks;
  DrawsSoFar so_far;
  for (int i = 0; i < law.tasks; ++i) {
    const Rng rng(mix(seed, static_cast<std::uint64_t>(i) + 1));
    tasks.push_back(TaskDraw(pool, law, rng, so_far).draw(check_stop));
  }
  return tasks;
}

}  // namespace shardsim
