#include <doctest/doctest.h>

#include "models/collective/nccl/graph.h"

namespace shardsim::channels_test {

namespace {

RingLimits inside(std::vector<double> orders, double widest, double gpu_total) {
  return {widest, gpu_total, std::move(orders), {}};
}

NcclChannels now(const RingLimits& limits, int capability) {
  return search_channels(limits, capability, NcclEra::v2_30);
}

}  // namespace

// NVIDIA/nccl src/graph/search.cc, ncclTopoCompute; MAXCHANNELS / 2 is 32, in 2.14 16.
TEST_CASE("channels stop at the most that NCCL has, doubled or not") {
  const RingLimits wide = inside({900}, 900, 900);
  CHECK(now(wide, 80) == NcclChannels{32, 15, 15});
  CHECK(search_channels(wide, 80, NcclEra::v2_14) == NcclChannels{16, 44, 44});
}

TEST_CASE("above sm80, more than four channels slower than 50 GB/s are not doubled") {
  CHECK(now(inside({250}, 250, 250), 90) == NcclChannels{10, 25, 25});
  CHECK(now({41, 200, {200}, {41, 41, 41, 41, 41}}, 90) == NcclChannels{5, 40, 40});
  CHECK(now({41, 160, {160}, {41, 41, 41, 41}}, 90) == NcclChannels{8, 20, 20});
  CHECK(now(inside({200}, 40, 200), 80) == NcclChannels{10, 20, 20});
}

TEST_CASE("a speed at or below .49 of the best is not tried, however many channels it would give") {
  CHECK(now(inside({40, 19}, 40, 1000), 80) == NcclChannels{2, 20, 20});
  CHECK(now(inside({30, 20}, 30, 1000), 80) == NcclChannels{5, 10, 10});
}

TEST_CASE("the first of equally good speeds wins, and a width equal to a speed fits") {
  CHECK(now(inside({20}, 20, 1000), 80) == NcclChannels{1, 20, 20});
  CHECK(now(inside({24}, 24, 1000), 90) == NcclChannels{1, 24, 24});
}

// ncclTopoCompareGraphs of 2.19.3 and of 2.20.3: eight rings of 48 that change their NIC against seven that keep it.
TEST_CASE("rings that change NICs win where they carry more, before 2.20 only where they carry 15 % more") {
  RingLimits limits{50, 370.8, {370.8}, std::vector<double>(8, 50)};
  limits.crossing = {370.8 * 8 / 7};
  CHECK(now(limits, 90) == NcclChannels{8, 48, 48, true});
  CHECK_FALSE(search_channels(limits, 90, NcclEra::v2_14).crosses);
  limits.orders = {300};
  CHECK(search_channels(limits, 90, NcclEra::v2_14).crosses);
}

TEST_CASE("nothing fits below the slowest speed") {
  CHECK(now(inside({2.9}, 2.9, 2.9), 80).count == 0);
  CHECK(now({0.1, 0.1, {}, {0.1}}, 80).count == 0);
  CHECK(nvls_channels(8, {0.1, 370.8, {370.8}, {0.1}}, 90, NcclEra::v2_30).count == 0);
}

TEST_CASE("NVLS loads a port once per head and once more") {
  CHECK(nvls_channels(8, inside({370.8}, 370.8, 370.8), 90, NcclEra::v2_30) == NcclChannels{8, 40, 60});
  CHECK(nvls_channels(2, inside({370.8}, 370.8, 370.8), 90, NcclEra::v2_30) == NcclChannels{2, 60, 60});
  CHECK(nvls_channels(1, inside({370.8}, 370.8, 370.8), 90, NcclEra::v2_30).count == 0);
  CHECK(nvls_channels(8, inside({240}, 240, 240), 80, NcclEra::v2_30).count == 0);
  // Dozens of heads have together what eight have.
  const NcclChannels eight = nvls_channels(8, inside({721.8}, 721.8, 721.8), 100, NcclEra::v2_30);
  const NcclChannels rack = nvls_channels(72, inside({721.8}, 721.8, 721.8), 100, NcclEra::v2_30);
  CHECK(rack.count == 72);
  CHECK(72 * rack.bw_intra == doctest::Approx(8 * eight.bw_intra));
  CHECK(72 * rack.bw_inter == doctest::Approx(8 * eight.bw_inter));
}

}  // namespace shardsim::channels_test
