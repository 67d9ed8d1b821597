#include <doctest/doctest.h>

#include "tests/models/collective/nccl/nccl_machines.h"

namespace shardsim::nccl_measured_test {

using namespace shardsim::test;

namespace {

struct Row {
  std::int64_t bytes;
  double measured_us;
  double ratio;  // predicted to measured, two digits
};

// Nothing fitted and no launch overhead: what the formula alone is worth.
void check_ratios(const std::string& yaml, const std::string& chosen, const std::vector<Row>& rows,
                  CollectiveKind kind = CollectiveKind::all_reduce) {
  const NcclSetup setup = world(yaml);
  for (const Row& row : rows) {
    CAPTURE(row.bytes);
    const NcclTime time = nccl_time(kind, row.bytes, setup);
    CHECK(std::abs(time.time.us() / row.measured_us - row.ratio) < 0.0051);
    if (!chosen.empty()) CHECK(choice(time) == chosen);
  }
}

void check_within(const std::string& yaml, CollectiveKind kind, double share, const std::vector<Row>& rows) {
  const NcclSetup setup = world(yaml);
  for (const Row& row : rows) {
    CAPTURE(row.bytes);
    CHECK(nccl_time(kind, row.bytes, setup).time.us() / row.measured_us == doctest::Approx(1).epsilon(share));
  }
}

}  // namespace

// argonne-lcf/alcf-nccl-tests, results_sophia/n2.g8/2024-10-15-11-21-15 (NCCL 2.22.3).
TEST_CASE("Sophia, 2 x 8 A100 with an HDR NIC each") {
  check_ratios(a100(2), "",
               {{64 * kMiB, 861.4, 1.00},
                {128 * kMiB, 1428.7, 1.12},
                {256 * kMiB, 2759.0, 1.05},
                {512 * kMiB, 5692.0, .97},
                {kGiB, 11298.0, .95}});
  check_within(a100(2), CollectiveKind::all_reduce, .06,
               {{256 * kMiB, 2759.0, 0}, {512 * kMiB, 5692.0, 0}, {kGiB, 11298.0, 0}});
  check_within(a100(2), CollectiveKind::all_gather, .16,
               {{256 * kMiB, 1454.9, 0}, {512 * kMiB, 2937.9, 0}, {kGiB, 5723.1, 0}});
}

// microsoft/superbenchmark, tests/data/nccl_*.log.
TEST_CASE("SuperBench, one A100 node") {
  check_ratios(a100(1), "Ring Simple",
               {{64 * kMiB, 584.5, .93}, {256 * kMiB, 2112.2, .95}, {kGiB, 8159.5, .97}, {8 * kGiB, 63896.0, .98}});
  check_within(a100(1), CollectiveKind::all_reduce, .06,
               {{256 * kMiB, 2112.2, 0}, {kGiB, 8159.5, 0}, {8 * kGiB, 63896.0, 0}});
  check_ratios(a100(1), "", {{64 * kMiB, 379.7, .73}, {256 * kMiB, 1192.2, .85}, {kGiB, 4413.4, .89}},
               CollectiveKind::all_gather);
  check_ratios(a100(1), "", {{256 * kMiB, 1108.7, .91}}, CollectiveKind::reduce_scatter);
}

// xxrjun/nccl-tests-cluster, example-cluster01, single-node/runs/20260128-145017 (NCCL 2.29.2).
TEST_CASE("one H100 node: NVLS with eight GPUs, a ring with four") {
  check_ratios(h100(1), "NVLS Simple",
               {{64 * kMiB, 313.66, .87},
                {128 * kMiB, 564.78, .92},
                {256 * kMiB, 1081.14, .94},
                {kGiB, 4000.82, .99},
                {16 * kGiB, 62340.7, 1.01}});
  check_ratios(h100(1, 4), "Ring Simple", {{64 * kMiB, 325.0, .95}, {kGiB, 4508.42, 1.00}, {16 * kGiB, 70128.7, 1.02}});
}

// github.com/NVIDIA/nccl-tests/issues/256.
TEST_CASE("2 x 8 H200 with eight 400 Gbit/s NICs: NVLSTree") {
  check_ratios(h100(2), "NVLSTree Simple",
               {{kGiB, 4389.5, 1.01}, {3 * kGiB, 12485.0, 1.05}, {9 * kGiB, 37069.0, 1.06}});
}

// github.com/NVIDIA/nccl-tests/issues/152.
TEST_CASE("2 x 8 A100 with four HDR NICs") {
  check_ratios(a100(2, 8, "shared_by: 2, rate: \"200 Gbit/s\""), "Ring Simple",
               {{64 * kMiB, 1367.2, 1.17},
                {128 * kMiB, 2698.7, 1.08},
                {256 * kMiB, 5665.7, .98},
                {kGiB, 22490.0, .95},
                {2 * kGiB, 44914.0, .94}});
}

// A blog note of 2019 on an 8 x V100 server (NCCL 2.4), repository unknown.
TEST_CASE("V100 cube mesh") {
  check_ratios(v100_cube(), "Ring Simple", {{64 * kMiB, 992.7, 1.04}, {128 * kMiB, 1818.8, 1.11}});
}

// sparticlesteve/podman-nccl-testing, shifter-nccl-tests-30743809.out; argonne-lcf/alcf-nccl-tests, results_polaris.
TEST_CASE("meshes of four A100 on Slingshot: a constant share of the NICs is missing") {
  check_ratios(a100_four(2, "per_gpu: 1, rate: \"200 Gbit/s\""), "Ring Simple",
               {{64 * kMiB, 1708.9, .80}, {256 * kMiB, 6448.7, .78}, {4 * kGiB, 101166.0, .78}});
  const std::string two_nics = "shared_by: 2, rate: \"200 Gbit/s\"";
  check_within(a100_four(2, two_nics), CollectiveKind::all_reduce, .24, {{256 * kMiB, 12942.0, 0}, {kGiB, 51310.0, 0}});
  check_ratios(a100_four(8, two_nics), "Ring Simple", {{64 * kMiB, 4065.1, .84}, {kGiB, 57191.0, .77}});
}

// A public guide on GKE A4 (one node, repository unknown), OCI's image notes for GB300 (8 and 64 GPUs of one NVLink
// domain) and coreweave/nccl-tests PR 43 (72 GB200). NCCL's estimate is bounded by the one speed of its search; what
// its kernels carry is not, and is within 11 % of these.
TEST_CASE("NVLS on Blackwell carries what NVLinks allow, in a node of eight and in a rack") {
  const auto carried = [](int gpus) {
    const NcclSetup setup = world(switched(1, gpus, "10.0", 18));
    const NcclTime time = nccl_time(CollectiveKind::all_reduce, 16 * kGiB, setup);
    CHECK(choice(time) == "NVLS Simple");
    CHECK(time.algorithm_bandwidth < time.carried);
    return time.carried.bytes_per_second / 1e9;
  };
  CHECK(carried(8) == doctest::Approx(483.11).epsilon(.03));
  CHECK(carried(8) == doctest::Approx(480.93).epsilon(.03));
  CHECK(carried(64) == doctest::Approx(472.63).epsilon(.03));
  CHECK(carried(72) == doctest::Approx(429.37).epsilon(.11));
}

// The same guide, two nodes with eight 400 Gbit/s NICs each: 365 GB/s at 16 GiB.
TEST_CASE("NVLSTree over two nodes of B200 is not held back by the speed of NCCL's search") {
  const NcclSetup setup =
      world(switched(2, 8, "10.0", 18) + "pcie: {generation: 5, cpu: {vendor: intel, model: Emerald Rapids}}\n" +
            nics("per_gpu: 1, rate: \"400 Gbit/s\""));
  const NcclTime time = nccl_time(CollectiveKind::all_reduce, 16 * kGiB, setup);
  CHECK(choice(time) == "NVLSTree Simple");
  CHECK(time.carried.bytes_per_second / 1e9 == doctest::Approx(365.05).epsilon(.13));
}

// zarzen/nccl-tests, 2p3dn.2GPUs.log; github.com/NVIDIA/nccl-tests/issues/78.
TEST_CASE("one 100 Gbit/s NIC per node over sockets: far from the formula") {
  check_ratios(single(2, "7.0", 3, "100 Gbit/s"), "Ring Simple", {{64 * kMiB, 15096.0, .37}});
}

}  // namespace shardsim::nccl_measured_test
