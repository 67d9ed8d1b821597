#include "study/result/hardware.h"

#include <doctest/doctest.h>

#include "tests/physics/lab.h"

namespace shardsim::hardware_test {

namespace {

ClusterSpec healthy() {
  return physics::cluster_spec("hgx_h100_8x400g.yaml", 2);
}

ClusterSpec changed(const std::function<void(ClusterSpec&)>& change) {
  ClusterSpec spec = healthy();
  change(spec);
  return spec;
}

const FaultSpec kHalfNic{.node = 0, .gpu = {}, .nic = 0, .rate_factor = 0.5};

// A case whose two operations run at these times on rank 0, ms; the first is on the path.
CaseResult overlapping(double iteration_ms, double exchange_end, double input_start, double input_end) {
  CaseResult result;
  result.timeline.iteration_ms = iteration_ms;
  result.timeline.ops = {{.name = "exchange", .op_class = "all_to_all", .group = "world"},
                         {.name = "input", .op_class = "all_to_all", .group = "world"}};
  Span exchange, input;
  exchange.end_us = exchange_end * 1e3;
  input.op = 1;
  input.start_us = input_start * 1e3;
  input.end_us = input_end * 1e3;
  result.timeline.spans = {exchange, input};
  Why why;
  PathPart part;
  part.operation = "exchange";
  part.ms = exchange_end;
  part.rank = 0;
  why.parts = {part};
  result.why = why;
  return result;
}

}  // namespace

TEST_CASE("hardware is slower if something of it is and nothing is faster") {
  const ClusterSpec own = healthy();
  CHECK_FALSE(is_slower_hardware(own, own));
  const auto broken = changed([](ClusterSpec& spec) { spec.faults = {kHalfNic}; });
  CHECK(is_slower_hardware(broken, own));
  CHECK_FALSE(is_slower_hardware(own, broken));
  const auto fewer_links = changed([](ClusterSpec& spec) { spec.nvlink.links_per_gpu /= 2; });
  CHECK(is_slower_hardware(fewer_links, own));
  const auto thin = changed([](ClusterSpec& spec) { spec.fabric.oversubscription = 4; });
  CHECK(is_slower_hardware(thin, own));
  const auto mixed = changed([](ClusterSpec& spec) {
    spec.nics->rate = 0.5 * spec.nics->rate;
    spec.gpu.hbm_bandwidth = 2 * spec.gpu.hbm_bandwidth;
  });
  CHECK_FALSE(is_slower_hardware(mixed, own));
  CHECK_FALSE(is_slower_hardware(own, mixed));
  const auto renamed = changed([](ClusterSpec& spec) { spec.name = "other"; });
  CHECK_FALSE(is_slower_hardware(renamed, own));
}

TEST_CASE("less memory is slower hardware, for a planner may use the larger one for a slower plan") {
  const ClusterSpec own = healthy();
  const auto small = changed([](ClusterSpec& spec) { spec.gpu.hbm = {spec.gpu.hbm.count / 2}; });
  CHECK(is_slower_hardware(small, own));
  CHECK_FALSE(is_slower_hardware(own, small));
  const auto reserved = changed([](ClusterSpec& spec) { spec.gpu.reserved = {2 * spec.gpu.reserved.count}; });
  CHECK(is_slower_hardware(reserved, own));
  const auto mixed = changed([](ClusterSpec& spec) {
    spec.gpu.hbm = {spec.gpu.hbm.count / 2};
    spec.nics->rate = 2 * spec.nics->rate;
  });
  CHECK_FALSE(is_slower_hardware(mixed, own));
}

TEST_CASE("products are compared by what they have, not by their names, prices and fitted constants") {
  const ClusterSpec h100 = healthy();
  ClusterSpec h200 = physics::cluster_spec("dgx_h200.yaml", 2);
  h200.cost_per_gpu_hour = 3.2;
  CHECK(is_slower_hardware(h100, h200));
  CHECK_FALSE(is_slower_hardware(h200, h100));
  CHECK_FALSE(is_slower_hardware(h100, physics::cluster_spec("dgx_h100.yaml", 2)));
  CHECK_FALSE(is_slower_hardware(physics::cluster_spec("dgx_h100.yaml", 2), h100));
  CHECK(is_slower_hardware(h100, physics::cluster_spec("hgx_b200_8x400g.yaml", 2)));
  const auto dear = changed([](ClusterSpec& spec) { spec.cost_per_gpu_hour = 9, spec.currency = "EUR"; });
  CHECK_FALSE(is_slower_hardware(dear, h100));
  CHECK_FALSE(is_slower_hardware(h100, dear));
  const auto unfitted = changed([](ClusterSpec& spec) { spec.overheads.clear(), spec.fits = "none"; });
  CHECK_FALSE(is_slower_hardware(unfitted, h100));
  CHECK_FALSE(is_slower_hardware(h100, unfitted));
}

TEST_CASE("what makes an iteration longer names the two operations that share links longer") {
  // The input runs beside 3 of the exchange's 10 ms in the longer case, and beside none of its 8 ms in the shorter one.
  const CaseResult longer = overlapping(12, 10, 7, 11), shorter = overlapping(11, 8, 8, 11);
  CHECK(overlap_sentence(longer, shorter) ==
        "exchange takes 2 ms more of the critical path there, because input runs beside it for 3 ms more on rank 0 and "
        "takes part of what both share.");
  CHECK(overlap_sentence(shorter, longer).empty());
}

TEST_CASE("an operation that is longer by itself is said to be") {
  CaseResult longer = overlapping(12, 10, 7, 11);
  const CaseResult shorter = overlapping(11, 8, 8, 11);
  longer.timeline.ops[0].alone_us = 2000;
  CHECK(overlap_sentence(longer, shorter) ==
        "exchange takes 2 ms more of the critical path there: even alone it takes 2 instead of 0 ms. NCCL finds other "
        "channels for it, or chooses otherwise.");
}

TEST_CASE("an operation that goes on into the next iteration is beside what starts that one") {
  // The input of the iteration before ends 2 ms after this one began.
  const CaseResult longer = overlapping(12, 10, 11, 14), shorter = overlapping(11, 8, 9, 11);
  CHECK(overlap_sentence(longer, shorter).find("input runs beside it for 2 ms more") != std::string::npos);
}

}  // namespace shardsim::hardware_test
