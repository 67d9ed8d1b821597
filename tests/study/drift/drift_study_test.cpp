#include "study/drift/drift_study.h"

#include <doctest/doctest.h>

#include <cstdlib>

#include "base/tree/yaml.h"
#include "study/drift/drifted_workload.h"

namespace shardsim::drift_study_test {

TEST_CASE("a feature that each sample has keeps them all as the batch grows, and one of half of them the half") {
  const Workload workload =
      read_workload(parse_yaml("schema: shardsim.workload/1\nname: two\nbatch_per_gpu: 1000\ntables:\n"
                               "  - {name: all, rows: 1000, dim: 64, kind: pooled, pooling_factor: 3, batch: 1000}\n"
                               "  - {name: half, rows: 1000, dim: 64, kind: pooled, pooling_factor: 3, batch: 500}\n",
                               "test"),
                    "");
  DriftOptions options;
  options.batch = 0.013;
  for (const int day : {0, 1, 7, 365}) {
    CAPTURE(day);
    const Workload grown = workload_on(workload, options, day);
    CHECK(grown.tables[0].features.front().batch == grown.batch_per_gpu);
    CHECK(std::abs(2 * *grown.tables[1].features.front().batch - grown.batch_per_gpu) <= 1);
  }
}

}  // namespace shardsim::drift_study_test
