#include <doctest/doctest.h>

#include "models/collective/collective_prediction.h"
#include "tests/models/collective/nccl/nccl_machines.h"

namespace shardsim::sharp_test {

using namespace shardsim::test;

namespace {

const std::string kSharp = "fabric: {sharp: true}\n";

CollectivePrediction predict(const std::string& yaml, std::int64_t bytes,
                             CollectiveKind kind = CollectiveKind::all_reduce) {
  const Cluster cluster = cluster_from(yaml);
  return predict_collective({kind, bytes, nullptr, ranks_from(0, cluster.world_size()), {}}, cluster);
}

// Bytes on each link of one call, by the end of its name: "nic0/out".
std::map<std::string, double> bytes_by_link(const std::string& yaml, std::int64_t bytes) {
  const Cluster cluster = cluster_from(yaml);
  std::map<std::string, double> sums;
  for (const LinkLoad& load : reduction(cluster, ranks_from(0, cluster.world_size()), bytes, "auto").loads) {
    const std::string name = cluster.link_name(load.link);
    sums[name.substr(name.find('/') + 1)] += load.bytes / cluster.nodes();
  }
  return sums;
}

}  // namespace

TEST_CASE("with SHARP a NIC sends its part of the buffer once and takes the result once") {
  const auto sums = bytes_by_link(h100(8) + kSharp, 64 * kMiB);
  for (int nic = 0; nic < 8; ++nic) {
    CHECK(sums.at("nic" + std::to_string(nic) + "/out") == doctest::Approx(64 * kMiB / 8));
    CHECK(sums.at("nic" + std::to_string(nic) + "/in") == doctest::Approx(64 * kMiB / 8));
  }
  // NVLS with a head per NIC: the whole buffer, and an eighth as a head.
  CHECK(sums.at("gpu0/nvlink_out") == doctest::Approx(64 * kMiB * 9 / 8));
  CHECK(bytes_by_link(h100(8), 64 * kMiB).at("nic0/out") > 1.7 * 64 * kMiB / 8);
}

TEST_CASE("SHARP hardly depends on the number of nodes, trees do") {
  CHECK(predict(h100(8) + kSharp, 32 * kMiB).algorithm == "NVLS");
  const double few = predict(h100(4) + kSharp, 32 * kMiB).time.us(),
               many = predict(h100(16) + kSharp, 32 * kMiB).time.us();
  CHECK(many < 1.02 * few);
  CHECK(predict(h100(16), 32 * kMiB).time.us() > 1.3 * many);
}

TEST_CASE("SHARP is for reductions over several nodes: gathers and single nodes go as without it") {
  CHECK(predict(h100(1) + kSharp, 32 * kMiB).time == predict(h100(1), 32 * kMiB).time);
  for (const CollectiveKind kind : {CollectiveKind::all_gather, CollectiveKind::reduce_scatter})
    CHECK(predict(h100(4) + kSharp, 32 * kMiB, kind).time == predict(h100(4), 32 * kMiB, kind).time);
}

TEST_CASE("A100 reduce in the network too, without NVLS") {
  const CollectivePrediction with = predict(a100(8) + kSharp, 64 * kMiB);
  CHECK(with.algorithm.starts_with("Collnet"));
  CHECK(with.time < predict(a100(8), 64 * kMiB).time);
  const auto sums = bytes_by_link(a100(8) + kSharp, 64 * kMiB);
  double sent = 0;
  for (const auto& [name, bytes] : sums) sent += name.starts_with("nic") && name.ends_with("/out") ? bytes : 0;
  CHECK(sent == doctest::Approx(64 * kMiB));
}

}  // namespace shardsim::sharp_test
