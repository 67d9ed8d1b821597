#include "models/workload/pool/task_draw.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "base/rng.h"

namespace shardsim {
namespace {

constexpr std::int64_t kMostDraws = 1'000'000'000;  // of tables, for one task: some ten seconds
constexpr std::int64_t kStopEvery = 1 << 20;

[[noreturn]] void refuse_law(const std::string& what, const std::string& remedy) {
  throw input_error({}, what, remedy);
}

void check_law(const std::vector<Table>& pool, const TaskLaw& law) {
  if (pool.empty()) refuse_law("the pool has no tables", "Name a workload that lists some");
  for (const Table& table : pool)
    if (table.rows == 0) throw input_error(table.place, "a table of the pool has no rows", "Leave it out");
  if (law.tasks < 1) refuse_law("no tasks are asked for", "Ask for one or more");
  if (law.least_tables < 1 || law.most_tables < law.least_tables)
    refuse_law(fmt::format("tasks of {} to {} tables", law.least_tables, law.most_tables),
               "The least number of tables is 1 or more, and at most the largest");
  if (law.least_dim < 1 || law.most_dim < law.least_dim || law.most_dim % law.least_dim != 0 ||
      !std::has_single_bit(static_cast<std::uint64_t>(law.most_dim / law.least_dim)))
    refuse_law(fmt::format("dims from {} to {}", law.least_dim, law.most_dim),
               "The largest dim is the least one doubled some times, or the same");
  if (!law.replace && law.most_tables > pool.size())
    refuse_law(fmt::format("{} different tables of a pool of {}", law.most_tables, pool.size()),
               "Ask for fewer tables, or let a task have one twice");
}

class TaskDraw {
 public:
  TaskDraw(const std::vector<Table>& pool, const TaskLaw& law, Rng rng)
      : pool_(pool), law_(law), rng_(rng), left_(pool.size()) {
    std::iota(left_.begin(), left_.end(), std::size_t{0});
  }

  Task draw(const std::function<void()>& check_stop) {
    const std::size_t tables = law_.least_tables + rng_.below(law_.most_tables - law_.least_tables + 1);
    refuse_impossible(tables);
    for (std::int64_t next_stop = 0; drawn_ < kMostDraws;) {
      if (attempt(tables)) return task_;
      if (drawn_ < next_stop || !check_stop) continue;
      check_stop();
      next_stop = drawn_ + kStopEvery;
    }
    refuse_law(fmt::format("no {} tables within {:.4g} GiB were found in {} draws", tables, law_.most_bytes / 0x1p30,
                           kMostDraws),
               "Allow more bytes, fewer tables or smaller dims");
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
      ++drawn_;
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

  // The smallest tables at the smallest dim must fit.
  void refuse_impossible(std::size_t tables) const {
    if (law_.most_bytes <= 0) return;
    std::vector<double> sizes;
    for (std::size_t table = 0; table < pool_.size(); ++table) sizes.push_back(bytes_of(table, law_.least_dim));
    std::ranges::sort(sizes);
    const double least = law_.replace
                             ? static_cast<double>(tables) * sizes.front()
                             : std::accumulate(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(tables), 0.0);
    if (least > law_.most_bytes)
      refuse_law(fmt::format("{} tables of this pool take {:.4g} GiB at least", tables, least / 0x1p30),
                 "Allow more bytes, fewer tables or smaller dims");
  }

  const std::vector<Table>& pool_;
  const TaskLaw& law_;
  Rng rng_;
  std::vector<std::size_t> left_;
  Task task_;
  std::int64_t drawn_ = 0;
};

}  // namespace

std::vector<Task> draw_tasks(const std::vector<Table>& pool, const TaskLaw& law, std::uint64_t seed,
                             const std::function<void()>& check_stop) {
  check_law(pool, law);
  std::vector<Task> tasks;
  for (int i = 0; i < law.tasks; ++i)
    tasks.push_back(TaskDraw(pool, law, Rng(mix(seed, static_cast<std::uint64_t>(i) + 1))).draw(check_stop));
  return tasks;
}

}  // namespace shardsim
