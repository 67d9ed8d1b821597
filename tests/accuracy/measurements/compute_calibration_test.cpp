#include <doctest/doctest.h>
#include <fmt/format.h>

#include "accuracy/measurements/calibration.h"
#include "base/tree/yaml.h"
#include "models/compute/compute_model.h"
#include "topology/spec/cluster_spec.h"

namespace shardsim::compute_calibration_test {
namespace {

ClusterSpec toy() {
  return read_cluster(read_yaml_file(std::string(SHARDSIM_SOURCE_DIR) + "/scenarios/clusters/toy_2x4.yaml"));
}

// Times that a device of known constants would take, as a table of measurements.
EmbeddingTable rows_of(const GpuSpec& gpu) {
  const auto roofline = make_compute_model(named_map("roofline"));
  EmbeddingTable table;
  const auto add = [&](EmbeddingRow row) {
    ComputeWork work;
    work.flops = row.flops();
    if (row.has_tables()) {
      work.kind = row.is_update() ? ComputeWork::Kind::update : ComputeWork::Kind::lookup;
      work.hbm_bytes = row.hbm_bytes();
      work.lookups = row.lookups();
      work.sorted_update = row.is_update();
    }
    row.time_us = roofline->seconds(work, gpu).us();
    table.rows.push_back(row);
  };
  for (const double dim : {4.0, 16.0, 64.0, 256.0})
    for (const double batch : {64.0, 1024.0, 16384.0, 262144.0})
      for (const auto kind : {EmbeddingRow::Kind::lookup, EmbeddingRow::Kind::update}) {
        EmbeddingRow row;
        row.kind = kind;
        row.gpu = "made up";
        row.optimizer = "sgd";
        row.dtype = "fp32";
        row.tables = 1;
        row.rows = 1e7;
        row.dim = dim;
        row.batch = batch;
        row.pooling = 8;
        add(row);
      }
  for (const double size : {64.0, 256.0, 1024.0, 4096.0}) {
    EmbeddingRow row;
    row.kind = EmbeddingRow::Kind::gemm;
    row.gpu = "made up";
    row.rows = row.dim = row.batch = size;
    add(row);
  }
  return table;
}

GpuSpec made_up() {
  GpuSpec gpu = toy().gpu;
  gpu.kernel_overhead = {4e-6};
  gpu.copy_bandwidth = {700e9};
  gpu.lookups_per_ns = 9;
  gpu.sort_per_lookup = {2.5e-9};
  gpu.sorted_update_efficiency = 0.4;
  gpu.flops_efficiency = 0.6;
  return gpu;
}

}  // namespace

TEST_CASE("the constants of a device are found again in the times that it takes") {
  const ComputeCalibration found = calibrate_compute(toy(), rows_of(made_up()), "m.csv");
  const GpuSpec& gpu = found.spec.gpu;
  CHECK(gpu.kernel_overhead.us() == doctest::Approx(4).epsilon(0.01));
  CHECK(gpu.copy_bandwidth.bytes_per_second == doctest::Approx(700e9).epsilon(0.01));
  CHECK(gpu.lookups_per_ns == doctest::Approx(9).epsilon(0.01));
  CHECK(gpu.sort_per_lookup.value == doctest::Approx(2.5e-9).epsilon(0.01));
  CHECK(gpu.sorted_update_efficiency == doctest::Approx(0.4).epsilon(0.02));
  CHECK(gpu.flops_efficiency == doctest::Approx(0.6).epsilon(0.01));
  for (const ComputeErrors& errors : found.errors) {
    CHECK(errors.used > 0);
    CHECK(errors.median_after < 1);
  }
}

TEST_CASE("no time of the check third moves a fitted value") {
  EmbeddingTable table = rows_of(made_up());
  const ComputeCalibration before = calibrate_compute(toy(), table, "m.csv");
  int changed = 0;
  for (EmbeddingRow& row : table.rows) {
    if (!row.is_check()) continue;
    row.time_us *= 5;
    ++changed;
  }
  REQUIRE(changed > 0);
  const ComputeCalibration after = calibrate_compute(toy(), table, "m.csv");
  GpuSpec fitted = after.spec.gpu;
  fitted.held_out = before.spec.gpu.held_out;  // which tells of the check third
  CHECK(fitted == before.spec.gpu);
  REQUIRE(after.spec.gpu.held_out);
  CHECK(after.spec.gpu.held_out->update > 1);
}

TEST_CASE("a fit to other times than those that judge it is worse than the device as it is") {
  ClusterSpec device = toy();
  device.gpu = made_up();
  EmbeddingTable table = rows_of(device.gpu);
  for (EmbeddingRow& row : table.rows)
    if (!row.is_check()) row.time_us *= 3;
  const ComputeCalibration found = calibrate_compute(device, table, "m.csv");
  CHECK(found.worse_text().starts_with("lookup "));
  CHECK(found.worse_text().find(" instead of 0.0 %") != std::string::npos);
}

TEST_CASE("the errors on the check third are written and read back") {
  const ComputeCalibration found = calibrate_compute(toy(), rows_of(made_up()), "m.csv");
  REQUIRE(found.spec.gpu.held_out);
  REQUIRE(found.spec.gpu.held_out->lookup);
  CHECK(*found.spec.gpu.held_out->lookup < 0.05);
  CHECK_FALSE(found.spec.gpu.held_out->product);  // one product alone judges none
  CHECK(found.worse_text().empty());
  const ClusterSpec again = read_cluster(parse_yaml(write_cluster(found.spec), "new.yaml"));
  CHECK(again.gpu.held_out == found.spec.gpu.held_out);
}

TEST_CASE("fitted values are written as fitted, with rows and source, and read back") {
  const ComputeCalibration found = calibrate_compute(toy(), rows_of(made_up()), "m.csv");
  const std::string text = write_cluster(found.spec);
  const ClusterSpec again = read_cluster(parse_yaml(text, "t"));
  CHECK(again.gpu == found.spec.gpu);
  int fitted = 0;
  for (const SourcedValue& source : again.sources) fitted += source.fitted && source.source == "m.csv, made up" ? 1 : 0;
  CHECK(fitted == 6);
}

TEST_CASE("what no row speaks of stays; faster products than the stated peak raise it") {
  EmbeddingTable table = rows_of(made_up());
  std::erase_if(table.rows, [](const EmbeddingRow& row) { return row.has_tables(); });
  for (EmbeddingRow& row : table.rows) row.time_us /= 4;
  while (table.rows.size() < 12) table.rows.push_back(table.rows[table.rows.size() % 4]);
  const ClusterSpec prior = toy();
  const ComputeCalibration found = calibrate_compute(prior, table, "m.csv");
  CHECK(found.spec.gpu.copy_bandwidth == prior.gpu.copy_bandwidth);
  CHECK(found.spec.gpu.sort_per_lookup == prior.gpu.sort_per_lookup);
  CHECK(found.spec.gpu.flops.at("fp32").per_second > prior.gpu.flops.at("fp32").per_second);
  CHECK(found.spec.gpu.flops_efficiency <= 1);
}

TEST_CASE("products are judged by the peak of their own precision, and none moves the peak of another one") {
  ClusterSpec prior = toy();
  prior.gpu.flops = {{"fp32", Flops{60e12}}, {"tf32", Flops{500e12}}, {"fp16", Flops{1000e12}}};
  GpuSpec device = prior.gpu;
  device.flops_efficiency = 0.75;
  const auto roofline = make_compute_model(named_map("roofline"));
  EmbeddingTable table;
  for (const char* const precision : {"fp32", "tf32", "fp16"})
    for (const double size : {1024.0, 1536.0, 2048.0, 3072.0, 4096.0, 6144.0, 8192.0}) {
      EmbeddingRow row;
      row.kind = EmbeddingRow::Kind::gemm;
      row.gpu = "made up";
      row.dtype = precision;
      row.rows = row.dim = row.batch = size;
      ComputeWork work;
      work.flops = row.flops();
      work.precision = precision;
      row.time_us = roofline->seconds(work, device).us();
      table.rows.push_back(row);
    }
  const ComputeCalibration found = calibrate_compute(prior, table, "m.csv");
  CHECK(found.spec.gpu.flops == prior.gpu.flops);
  CHECK(found.spec.gpu.flops_efficiency == doctest::Approx(0.75).epsilon(0.01));
  REQUIRE(found.errors.size() == 1);
  CHECK(found.errors.front().median_after < 1);

  // A precision of which the cluster states nothing gets the fastest product of it.
  prior.gpu.flops.erase("fp16");
  const auto fastest = 750e12;
  CHECK(calibrate_compute(prior, table, "m.csv").spec.gpu.flops.at("fp16").per_second ==
        doctest::Approx(fastest).epsilon(0.05));

  table.rows.back().dtype = "int4";
  table.rows.back().place = {"m.csv", 9, 1};
  CHECK_THROWS_WITH_AS(calibrate_compute(prior, table, "m.csv"), doctest::Contains("m.csv:9:1: a product in \"int4\""),
                       Error);
}

TEST_CASE("too few rows, and rows of two devices, are refused") {
  EmbeddingTable table = rows_of(made_up());
  table.rows.back().gpu = "another";
  CHECK_THROWS_WITH_AS(calibrate_compute(toy(), table, "m.csv"), doctest::Contains("another"), Error);
  table.rows.resize(2);
  CHECK_THROWS_WITH_AS(calibrate_compute(toy(), table, "m.csv"), doctest::Contains("rows to fit"), Error);
}

}  // namespace shardsim::compute_calibration_test
