#include "models/collective/slower_links.h"

#include <doctest/doctest.h>

#include "tests/models/collective/nccl/nccl_machines.h"
#include "topology/spec/cluster_spec.h"

namespace shardsim::slower_links_test {

using namespace shardsim::test;

namespace {

std::string sentence(const std::string& rate, std::int64_t bytes) {
  const Cluster cluster(
      read_cluster(parse_yaml(header(2) + gpu_line(8, "9.0") + nics("per_gpu: 1, rate: " + rate), "test")));
  return SlowerLinks(cluster).better_for(
      {CollectiveKind::all_gather, ranks_from(0, cluster.world_size()), nullptr, bytes}, "gather", "auto");
}

}  // namespace

// The search tries 12 GB/s first, of which a ring over PCIe has room for one channel; 6.25 GB/s lead it to 5 of 3.
TEST_CASE("a collective that would be faster with slower NICs is told, with what NCCL's search finds") {
  CHECK(sentence("100 Gbit/s", 1 << 28)
            .find("with NICs of 6.25 GB/s instead of 12.5 GB/s: NCCL's search finds 1 channel of 12 "
                  "GB/s here, and 5 channels of 3 GB/s there") != std::string::npos);
  CHECK(sentence("50 Gbit/s", 1 << 28).empty());
  CHECK(sentence("100 Gbit/s", 0).empty());
}

TEST_CASE("what has no schedule of NCCL's has nothing to be told") {
  const Cluster cluster(
      read_cluster(parse_yaml(header(2) + gpu_line(8, "9.0") + nics("per_gpu: 1, rate: 100 Gbit/s"), "test")));
  ByteMatrix even;
  even.units = {1 << 28};
  const CollectiveCall call{CollectiveKind::all_to_all, ranks_from(0, 16), &even, 1 << 28};
  CHECK(SlowerLinks(cluster).better_for(call, "exchange", "auto").empty());
}

}  // namespace shardsim::slower_links_test
