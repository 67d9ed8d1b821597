#include <doctest/doctest.h>

#include "plan/torchrec/estimate/sharding_option.h"

// Worked by hand, by the formulas of TorchRec's planner/estimator at 376cac6a: a table of 1000 x 16 fp32, 10 ids a
// sample, batch 100, 2 hosts of 4 ranks, HBM 1e9 bytes per ms. All ranks' batches have 8000 ids, 64000 bytes. A kernel
// works on 32 columns at least (1024000 bytes; 512000 without that floor), and pays 1.75 times for narrow blocks. The
// vectors are 51200 bytes.

namespace shardsim::torchrec::hardware_test {
namespace {

TableSpec table() {
  TableSpec table;
  table.name = "t";
  table.rows = 1000;
  table.dim = 16;
  table.pooling_factors = {10};
  return table;
}

Topology topology(Device device = Device::cuda) {
  Topology topology;
  topology.world_size = 8;
  topology.local_world_size = 4;
  topology.device = device;
  topology.hbm_bandwidth = 1e9;
  set_capacity(topology, 0, 0);
  return topology;
}

Perf perf_of(const HardwareConfig& hardware, ShardingType type, const TableSpec& spec = table(),
             ComputeKernel kernel = ComputeKernel::fused, Device device = Device::cuda) {
  EstimateSettings settings;
  settings.batch_size = 100;
  settings.hardware = hardware;
  return estimate_option(spec, 0, type, kernel, topology(device), settings).runs.front().perf;
}

doctest::Approx near(double value) {
  return doctest::Approx(value).epsilon(1e-12).scale(value);
}

constexpr double kForward = (64'000 + 1'024'000 + 51'200) * 1.75 / 1e9;

}  // namespace

TEST_CASE("the default configuration is the formula without coefficients") {
  const Perf perf = perf_of({}, ShardingType::table_wise);
  CHECK(perf.fwd_compute == near(kForward));
  CHECK(perf.bwd_compute == near(2 * kForward));
}

TEST_CASE("forward coefficients weigh ids, rows looked up, vectors and the rows of the shard") {
  HardwareConfig hardware;
  hardware.by_type[ShardingType::table_wise] = {{2, 3, 5, 7}, {}};
  const double forward = (2 * 64'000 + 3 * 1'024'000 + 5 * 51'200 + 7 * 1000) * 1.75 / 1e9;
  const Perf perf = perf_of(hardware, ShardingType::table_wise);
  CHECK(perf.fwd_compute == near(forward));
  CHECK(perf.bwd_compute == near(2 * forward));
  hardware.by_type[ShardingType::row_wise] = {{2, 3, 5, 7}, {}};  // an eighth of the ids, and 125 rows of the table
  CHECK(perf_of(hardware, ShardingType::row_wise).fwd_compute ==
        near((2 * 8'000 + 3 * 64'000 + 5 * 51'200 + 7 * 125) / 1e9));
}

TEST_CASE("backward coefficients have neither the penalty nor the floor of 32 columns") {
  HardwareConfig hardware;
  hardware.otherwise.backward = PassCoefficients{1, 2, 3, 4};
  const double backward = (64'000 + 2 * 512'000 + 3 * 51'200 + 4 * 1000) / 1e9;
  CHECK(perf_of(hardware, ShardingType::table_wise).bwd_compute == near(backward));
  TableSpec weighted = table();
  weighted.weighted = true;  // the ids are read twice; and 1.1 times the forward pass for the gradient of the weights
  const double forward = (128'000 + 1'024'000 + 51'200) * 1.75 / 1e9;
  hardware.weighted_bwd_compute_multiplier = 1.5;
  CHECK(perf_of(hardware, ShardingType::table_wise, weighted).bwd_compute ==
        near((backward + 64'000 / 1e9) * 1.5 + 1.1 * forward));
  hardware.weighted_kernel_multiplier = 0;
  CHECK(perf_of(hardware, ShardingType::table_wise, weighted).bwd_compute == near((backward + 64'000 / 1e9) * 1.5));
}

TEST_CASE("coefficients of a kernel go before those of its type, those before the others") {
  HardwareConfig hardware;
  hardware.otherwise = {{0, 0, 1, 0}, {}};
  hardware.by_type[ShardingType::column_wise] = {{0, 1, 0, 0}, {}};
  hardware.by_type[ShardingType::table_row_wise] = {{1, 0, 0, 0}, {}};
  hardware.by_kernel[{ShardingType::table_column_wise, ComputeKernel::fused_uvm}] = {{0, 0, 0, 1}, {}};
  CHECK(perf_of(hardware, ShardingType::table_wise).fwd_compute == near(51'200 * 1.75 / 1e9));
  CHECK(perf_of(hardware, ShardingType::column_wise).fwd_compute == near(1'024'000 * 1.75 / 1e9));
  CHECK(perf_of(hardware, ShardingType::table_column_wise).fwd_compute == near(1'024'000 * 1.75 / 1e9));
  CHECK(perf_of(hardware, ShardingType::grid_shard).fwd_compute == near(16'000 / 1e9));  // 2000 ids, 8 bytes each
  CHECK(perf_of(hardware, ShardingType::table_column_wise, table(), ComputeKernel::fused_uvm).fwd_compute ==
        near(1000 * 1.75 / (kHbmToDdrBandwidth / 10)));
}

TEST_CASE("flags and multipliers of a configuration") {
  HardwareConfig hardware;
  hardware.floor_of_columns = hardware.block_penalty = false;
  CHECK(perf_of(hardware, ShardingType::table_wise).fwd_compute == near((64'000 + 512'000 + 51'200) / 1e9));
  hardware.floor_of_columns = hardware.block_penalty = true;
  CHECK(perf_of(hardware, ShardingType::row_wise).fwd_compute == near((8'000 + 128'000 + 51'200) * 1.75 / 1e9));
  hardware = {};
  hardware.counts_id_bytes = false;
  CHECK(perf_of(hardware, ShardingType::table_wise).fwd_compute == near((8'000 + 1'024'000 + 51'200) * 1.75 / 1e9));
  hardware = {};
  hardware.id_bytes = 4;
  const Perf narrow = perf_of(hardware, ShardingType::table_wise);
  CHECK(narrow.fwd_compute == near((32'000 + 1'024'000 + 51'200) * 1.75 / 1e9));
  CHECK(narrow.input_dist_comms == near(32'000 / kCrossNodeBandwidth));
  hardware = {};
  hardware.bwd_compute_multiplier = 3;
  CHECK(perf_of(hardware, ShardingType::table_wise).bwd_compute == near(3 * kForward));
}

TEST_CASE("rates of a configuration: of the kernel, else of the device, else of the topology") {
  HardwareConfig hardware;
  hardware.device_bandwidth = 2e9;
  CHECK(perf_of(hardware, ShardingType::table_wise).fwd_compute == near(kForward / 2));
  hardware.kernel_bandwidths[ComputeKernel::fused] = 4e9;
  CHECK(perf_of(hardware, ShardingType::table_wise).fwd_compute == near(kForward / 4));
  CHECK(perf_of(hardware, ShardingType::table_wise, table(), ComputeKernel::fused_uvm).fwd_compute ==
        near(kForward / 2));
  TableSpec prefetched = table();  // whose cache is looked up as rows in HBM are
  prefetched.prefetch_pipeline = true;
  hardware.kernel_bandwidths[ComputeKernel::fused_uvm_caching] = 8e9;
  CHECK(perf_of(hardware, ShardingType::table_wise, prefetched, ComputeKernel::fused_uvm_caching).fwd_compute ==
        near(kForward / 4));
}

TEST_CASE("kernels of 2026-08 have the rates that they have, or those that a configuration gives them") {
  using enum ComputeKernel;
  CHECK(perf_of({}, ShardingType::table_wise, table(), fused_triton).fwd_compute == near(kForward));
  CHECK_THROWS_AS(perf_of({}, ShardingType::table_wise, table(), unfused_tpu, Device::tpu), PlannerError);
  HardwareConfig hardware;
  hardware.kernel_bandwidths[unfused_tpu] = 5e8;
  CHECK(perf_of(hardware, ShardingType::table_wise, table(), unfused_tpu, Device::tpu).fwd_compute ==
        near(2 * kForward));
}

TEST_CASE("a configuration that does not support a type refuses it") {
  HardwareConfig hardware;
  hardware.supported_types = {ShardingType::row_wise};
  CHECK_NOTHROW(perf_of(hardware, ShardingType::row_wise));
  CHECK_THROWS_AS(perf_of(hardware, ShardingType::table_wise), PlannerError);
}

}  // namespace shardsim::torchrec::hardware_test
