#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>

#include "base/files.h"
#include "base/tree/yaml.h"
#include "models/compute/compute_model.h"
#include "models/compute/models/measured_curve.h"

namespace shardsim::models_measured_test {
namespace {

constexpr const char* kHeader =
    "quality,gpu,op,num_tables,rows_per_table,dim_elements,batch_size_samples,pooling_factor_lookups_per_sample,"
    "weight_dtype,optimizer,index_distribution,cache_state,time_us,derived_row_traffic_bytes\n";

struct Folder {
  std::filesystem::path path = std::filesystem::temp_directory_path() / "shardsim_measured_test";
  Folder() { std::filesystem::create_directories(path); }
  ~Folder() { std::filesystem::remove_all(path); }
};

std::unique_ptr<ComputeModel> model_of(const Folder& folder, const std::string& rows) {
  write_file(folder.path / "measured.csv", kHeader + rows);
  return make_compute_model(parse_yaml("name: measured\nfile: " + (folder.path / "measured.csv").string(), "s.yaml"));
}

// Gathers of 1,000 and 100,000 rows of 256 bytes: 20 us and 1,100 us; an SGD update; a copy at 1 GB/s; two products.
const std::string kRows =
    "A,x,nobag_fwd,1,1000000,64,1000,1,fp32,none,uniform,flushed,20,\n"
    "A,x,nobag_fwd,1,1000000,64,100000,1,fp32,none,uniform,flushed,1100,\n"
    "C,x,nobag_fwd,1,1000000,64,100000,1,fp32,none,uniform,flushed,1,\n"
    "A,x,nobag_fwd,1,1000000,64,100000,1,fp32,none,uniform,warm: again,2,\n"
    "A,x,nobag_fwd,1,1000000,64,100000,1,fp32,none,zipf 1.2,flushed,3,\n"
    "A,x,nobag_bwd,1,1000000,64,100000,1,fp32,sgd,uniform,flushed,5000,\n"
    "A,x,copy,,,,,,,none,,,1000,1000000\n"
    "A,x,empty_call,,,,,,,none,,,7,\n"
    "A,x,gemm,,100,100,100,,fp32,none,,flushed,100,\n"
    "A,x,gemm,,200,100,100,,fp32,none,,flushed,150,\n";

ComputeWork lookup(double rows) {
  ComputeWork work;
  work.kind = ComputeWork::Kind::lookup;
  work.lookups = rows;
  work.hbm_bytes = 2 * 256 * rows;
  return work;
}

}  // namespace

TEST_CASE("a measured operation takes the time that was measured; poor, warm and skewed rows have no say") {
  const Folder folder;
  const auto model = model_of(folder, kRows);
  CHECK(model->seconds(lookup(1000), {}).us() == doctest::Approx(20));
  CHECK(model->seconds(lookup(100'000), {}).us() == doctest::Approx(1100));
}

TEST_CASE("small copies do not lower the rate of a large one, and bytes from the host cross the cluster's link") {
  const Folder folder;
  const auto model = model_of(folder, kRows + "A,x,copy,,,,,,,none,,,10,1000\n");
  ComputeWork work;
  work.hbm_bytes = 1e6;  // 1,000 us at 1 GB/s, and the start
  CHECK(model->seconds(work, {}).us() == doctest::Approx(1007));
  work.host_link = {5e-3};
  CHECK(model->seconds(work, {}).us() == doctest::Approx(5000));
}

TEST_CASE("between two sizes the time lies between theirs; beyond the last it grows in proportion") {
  const Folder folder;
  const auto model = model_of(folder, kRows);
  const double between = model->seconds(lookup(10'000), {}).us();
  CHECK(between > 110);  // a tenth of the larger
  CHECK(between < 200);  // ten times the smaller
  CHECK(model->seconds(lookup(1'000'000), {}).us() == doctest::Approx(11'000));
  CHECK(model->seconds(lookup(1), {}).us() == doctest::Approx(20));
}

TEST_CASE("more lookups or more bytes never take less time") {
  const Folder folder;
  const auto model = model_of(folder, kRows);
  for (double bytes = 100; bytes < 1e11; bytes *= 3) {
    Seconds before{0};
    for (double lookups = 1; lookups < 1e9; lookups *= 2) {
      ComputeWork work = lookup(lookups);
      work.hbm_bytes = bytes;
      const Seconds now = model->seconds(work, {});
      CHECK(now >= (1 - 1e-12) * before);
      work.hbm_bytes *= 2;
      CHECK(model->seconds(work, {}) >= (1 - 1e-12) * now);
      before = now;
    }
  }
}

TEST_CASE("products go by FLOP, other dense work by the copy rate after an empty call, fixed times as they are") {
  const Folder folder;
  const auto model = model_of(folder, kRows);
  ComputeWork work;
  work.flops = 2e6;
  CHECK(model->seconds(work, {}).us() == doctest::Approx(100));
  work.flops = 8e6;
  CHECK(model->seconds(work, {}).us() == doctest::Approx(300));
  work.flops = 0;
  work.hbm_bytes = 1e6;
  CHECK(model->seconds(work, {}).us() == doctest::Approx(1007));
  work.fixed = {1};
  CHECK(model->seconds(work, {}).value == 1);
}

TEST_CASE("an update takes the rows of its optimizer, and is refused without any") {
  const Folder folder;
  const auto model = model_of(folder, kRows);
  ComputeWork work = lookup(100'000);
  work.kind = ComputeWork::Kind::update;
  const double distinct = 1e6 * (1 - std::exp(100'000 * std::log1p(-1e-6)));
  work.hbm_bytes = 256 * 100'000 + 512 * distinct;
  CHECK(model->seconds(work, {}).us() == doctest::Approx(5000));  // summed only
  work.optimizer = "sgd";
  CHECK(model->seconds(work, {}).us() == doctest::Approx(5000));
  work.optimizer = "adam";
  CHECK_THROWS_WITH_AS(model->seconds(work, {}), doctest::Contains("optimizer adam"), Error);
}

TEST_CASE("bad tables are refused with file and line") {
  const Folder folder;
  CHECK_THROWS_WITH_AS(model_of(folder, "A,x,nobag_fwd,1,10,64,10,1,fp32,none,uniform,flushed,0,\n"),
                       doctest::Contains("measured.csv:2"), Error);
  CHECK_THROWS_WITH_AS(model_of(folder, "A,x,nobag_fwd,1,10,64,-1,1,fp32,none,uniform,flushed,5,\n"),
                       doctest::Contains("batch_size_samples"), Error);
  CHECK_THROWS_WITH_AS(model_of(folder, "A,x,nobag_fwd,1,10,64,1,1,fp32,none,uniform,flushed,fast,\n"),
                       doctest::Contains("measured.csv:2"), Error);
  write_file(folder.path / "half.csv", "quality,op\nA,copy\n");
  CHECK_THROWS_WITH_AS(
      make_compute_model(parse_yaml("name: measured\nfile: " + (folder.path / "half.csv").string(), "s.yaml")),
      doctest::Contains("half.csv:1: column gpu is missing"), Error);
  CHECK_THROWS_WITH_AS(make_compute_model(parse_yaml("name: measured\nfile: m.h5", "s.yaml")),
                       doctest::Contains("s.yaml:2"), Error);
}

}  // namespace shardsim::models_measured_test
