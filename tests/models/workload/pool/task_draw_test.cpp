#include "models/workload/pool/task_draw.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>

namespace shardsim::task_draw_test {
namespace {

std::vector<Table> pool_of(std::size_t tables, std::uint64_t rows) {
  std::vector<Table> pool(tables);
  for (std::size_t i = 0; i < tables; ++i) {
    pool[i].rows = rows * (i + 1);
    pool[i].kind = TableKind::pooled;
  }
  return pool;
}

double bytes_of(const Task& task, const std::vector<Table>& pool) {
  double bytes = 0;
  for (std::size_t i = 0; i < task.tables.size(); ++i)
    bytes += 4.0 * static_cast<double>(pool[task.tables[i]].rows) * static_cast<double>(task.dims[i]);
  return bytes;
}

}  // namespace

TEST_CASE("a pool with a sequence makes no tasks, for their ids would have to be exchanged") {
  std::vector<Table> pool = pool_of(20, 1000);
  pool[7].name = "history";
  pool[7].kind = TableKind::sequence;
  CHECK_THROWS_WITH_AS(draw_tasks(pool, TaskLaw{}, 1, {}),
                       doctest::Contains("table 'history' of the pool is a sequence"), Error);
}

TEST_CASE("tasks have as many tables as asked, dims by powers of two, and fit") {
  const std::vector<Table> pool = pool_of(50, 1000);
  TaskLaw law;
  law.tasks = 300;
  law.least_tables = 5;
  law.most_tables = 9;
  law.most_bytes = 30e6;
  std::set<std::size_t> counts;
  std::set<std::int64_t> dims;
  bool twice = false;
  for (const Task& task : draw_tasks(pool, law, 4, {})) {
    REQUIRE(task.tables.size() == task.dims.size());
    CHECK(bytes_of(task, pool) <= law.most_bytes);
    counts.insert(task.tables.size());
    dims.insert(task.dims.begin(), task.dims.end());
    twice = twice || std::set(task.tables.begin(), task.tables.end()).size() < task.tables.size();
  }
  CHECK(counts == std::set<std::size_t>{5, 6, 7, 8, 9});
  CHECK(dims == std::set<std::int64_t>{4, 8, 16, 32, 64, 128});
  CHECK(twice);
}

TEST_CASE("without a limit every table and dim is as likely as the others") {
  TaskLaw law;
  law.tasks = 2000;
  law.least_tables = law.most_tables = 10;
  law.most_dim = 8;
  std::map<std::size_t, int> tables;
  int small = 0;
  for (const Task& task : draw_tasks(pool_of(20, 10), law, 1, {})) {
    for (const std::size_t table : task.tables) ++tables[table];
    small += static_cast<int>(std::ranges::count(task.dims, 4));
  }
  for (const auto& [table, count] : tables) CHECK(std::abs(count - 1000) < 160);  // five standard deviations
  CHECK(std::abs(small - 10'000) < 360);
}

TEST_CASE("without replacement no task has a table twice") {
  TaskLaw law;
  law.tasks = 50;
  law.least_tables = law.most_tables = 18;
  law.replace = false;
  for (const Task& task : draw_tasks(pool_of(20, 10), law, 1, {}))
    CHECK(std::set(task.tables.begin(), task.tables.end()).size() == 18);
}

TEST_CASE("the first tasks do not depend on how many there are") {
  TaskLaw law;
  law.tasks = 3;
  const std::vector<Table> pool = pool_of(100, 10);
  const std::vector<Task> few = draw_tasks(pool, law, 9, {});
  law.tasks = 8;
  const std::vector<Task> more = draw_tasks(pool, law, 9, {});
  CHECK(std::equal(few.begin(), few.end(), more.begin()));
  CHECK(draw_tasks(pool, law, 10, {})[0] != more[0]);
}

TEST_CASE("laws that no task meets are refused") {
  const std::vector<Table> pool = pool_of(20, 1000);
  const auto refused = [&](auto change, const char* fragment) {
    TaskLaw law;
    change(law);
    CHECK_THROWS_WITH_AS(draw_tasks(pool, law, 1, {}), doctest::Contains(fragment), Error);
  };
  refused([](TaskLaw& law) { law.least_tables = 60; }, "60 to 59 tables");
  refused([](TaskLaw& law) { law.most_dim = 100; }, "dims from 4 to 100");
  refused([](TaskLaw& law) { law.replace = false; }, "59 different tables of a pool of 20");
  refused([](TaskLaw& law) { law.most_bytes = 1000; }, "at least");
  refused([](TaskLaw& law) { law.least_tables = 60; }, "argument --min-tables");
  refused([](TaskLaw& law) { law.least_dim = 256; }, "argument --min-dim");
  refused([](TaskLaw& law) { law.replace = false; }, "argument --without-replacement");
  // One table is small enough and hardly ever drawn ten times in a row: that is known without trying.
  std::vector<Table> wide = pool_of(800, 1'000'000);
  wide[0].rows = 1;
  TaskLaw law;
  law.most_bytes = 64 << 10;
  CHECK_THROWS_WITH_AS(draw_tasks(wide, law, 1, {}), doctest::Contains("is within 64 KiB"), Error);
  law.least_tables = law.most_tables = 1;
  law.tasks = 3;
  for (const Task& task : draw_tasks(wide, law, 1, {})) CHECK(task.tables == std::vector<std::size_t>{0});
  CHECK_THROWS_WITH_AS(draw_tasks({}, TaskLaw{}, 1, {}), doctest::Contains("no tables"), Error);
  std::vector<Table> empty = pool;
  empty[3].rows = 0;
  CHECK_THROWS_WITH_AS(draw_tasks(empty, TaskLaw{}, 1, {}), doctest::Contains("no rows"), Error);
}

}  // namespace shardsim::task_draw_test
