#include <doctest/doctest.h>

#include "tests/models/collective/nccl/nccl_machines.h"

namespace shardsim::choice_test {

using namespace shardsim::test;

TEST_CASE("the choice is the least of all that are allowed") {
  for (const std::string& yaml : {a100(2), h100(2), v100_cube(), single(4, "7.0", 3, "100 Gbit/s")}) {
    const NcclSetup setup = world(yaml);
    for (CollectiveKind kind : {CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::reduce_scatter,
                                CollectiveKind::broadcast}) {
      for (std::int64_t bytes = 1; bytes <= kGiB; bytes *= 8) {
        const NcclTime best = nccl_time(kind, bytes, setup);
        bool among = false;
        for (NcclAlgorithm algorithm : kNcclAlgorithms) {
          for (NcclProtocol protocol : kNcclProtocols) {
            const auto time = nccl_time_by(algorithm, protocol, kind, bytes, setup);
            if (!time) continue;
            CHECK(time->time >= best.time);
            among = among || (algorithm == best.algorithm && protocol == best.protocol && time->time == best.time);
          }
        }
        CHECK(among);
      }
    }
  }
}

TEST_CASE("a faster NIC never makes a call slower") {
  for (CollectiveKind kind : {CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::broadcast}) {
    for (std::int64_t bytes : {64 * kKiB, 16 * kMiB, kGiB}) {
      double before = 1e9;
      for (int gbit : {10, 25, 50, 100, 200, 400, 800}) {
        CAPTURE(gbit);
        const std::string nic = fmt::format("per_gpu: 1, rate: \"{} Gbit/s\"", gbit);
        const double seconds = nccl_time(kind, bytes, world(h100(4, 8, nic))).time.value;
        CHECK(seconds <= before);
        before = seconds;
      }
    }
  }
}

TEST_CASE("an uneven group counts as the node with the fewest of its ranks") {
  const Cluster cluster = cluster_from(a100(2));
  const NcclSetup uneven = nccl_setup({0, 1, 2, 8, 9}, cluster);
  CHECK(uneven.group.gpus == std::vector<int>{0, 1});
  CHECK(uneven.graphs.ring == nccl_setup({0, 1, 8, 9}, cluster).graphs.ring);
}

TEST_CASE("one rank alone, or no bytes, cost nothing") {
  const Cluster cluster = cluster_from(a100(2));
  CHECK(nccl_time(CollectiveKind::all_reduce, kGiB, nccl_setup({3}, cluster)).time.value == 0);
  CHECK(nccl_time(CollectiveKind::all_reduce, 0, world(a100(2))).time.value == 0);
}

}  // namespace shardsim::choice_test
