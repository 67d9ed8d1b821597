#include "sim/engine/jobs/job_engine.h"

#include <doctest/doctest.h>

namespace shardsim::job_engine_test {

namespace {

// Jobs of constant lengths from their starts on, until the window closes.
struct Run {
  JobWindow window;
  std::vector<std::vector<double>> ends;

  Run(std::vector<double> starts, const std::vector<double>& lengths, int iterations)
      : window(starts, iterations), ends(starts.size()) {
    for (std::vector<double> next = std::move(starts); !window.closed();) {
      std::size_t first = 0;
      for (std::size_t job = 1; job < next.size(); ++job) {
        if (next[job] + lengths[job] < next[first] + lengths[first]) first = job;
      }
      next[first] += lengths[first];
      ends[first].push_back(next[first]);
      window.ended(static_cast<int>(first), next[first]);
    }
  }
};

}  // namespace

TEST_CASE("a job alone settles for so many iterations and is measured over as many") {
  const Run run({0}, {1}, 4);
  CHECK(run.ends[0].size() == 8);
  CHECK(run.window.measured(0).origin == 3);
  CHECK(run.window.measured(0).count() == 4);
  CHECK(run.window.measured(0).mean(run.ends[0]) == 1);
}

TEST_CASE("every job is measured while all of them run, the short one more often") {
  const Run run({0, 0}, {1, 10}, 2);
  const auto quick = run.window.measured(0), slow = run.window.measured(1);
  CHECK(slow.count() == 2);
  CHECK(run.ends[1][slow.origin] == 20);  // two iterations to settle
  CHECK(run.ends[0][quick.origin] >= 20);
  CHECK(quick.count() >= 19);
  CHECK(quick.count() <= 20);
}

TEST_CASE("nothing counts before the latest start") {
  const Run run({0, 100}, {1, 1}, 3);
  CHECK(run.ends[0][run.window.measured(0).origin] == 103);
  CHECK(run.ends[1][run.window.measured(1).origin] == 103);
  CHECK(run.window.measured(0).count() == 3);
}

}  // namespace shardsim::job_engine_test
