#include "models/compute/kernels/kernels.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/tree/yaml.h"

namespace shardsim::kernels_test {
namespace {

GpuConstants constants(const char* name) {
  return *shipped_gpu_table().find(name);
}

double even_distinct(double lookups, double rows) {
  return rows * -std::expm1(-lookups / rows);
}

// `tables` tables of `rows` rows of `dim` floats, `batch` bags of `pooling` ids each, drawn evenly.
ComputeWork lookup_of(double tables, double rows, double dim, double batch, double pooling) {
  ComputeWork work;
  work.kind = ComputeWork::Kind::lookup;
  work.lookups = tables * batch * pooling;
  work.rows.distinct = tables * even_distinct(batch * pooling, rows);
  work.rows.distinct_growth = even_growth(batch * pooling, rows);
  work.rows.bytes = work.rows.vector_bytes = 4 * dim;
  work.rows.table_rows = tables * rows;
  work.rows.table_count = tables;
  work.rows.vectors = tables * batch;
  return work;
}

ComputeWork update_of(double tables, double rows, double dim, double batch, double pooling) {
  ComputeWork work = lookup_of(tables, rows, dim, batch, pooling);
  work.kind = ComputeWork::Kind::update;
  work.sorted_update = true;
  work.rows.update_bytes = 2 * work.rows.bytes;
  return work;
}

Seconds ask(const ComputeWork& work, const char* gpu, const std::string& options = "name: gpu_kernels") {
  const GpuConstants known = constants(gpu);
  return make_compute_model(parse_yaml(options, "t"))->seconds(work, spec_of(known));
}

}  // namespace

TEST_CASE("rows that all fit into L2 are read once, rows that never repeat at every lookup") {
  RowWork rows;
  rows.bytes = 512;
  rows.distinct = 1000;
  rows.distinct_growth = even_growth(1e6, 1000);
  CHECK(dram_row_reads(1e6, rows, 1e6) == 1000);
  rows.distinct = 1e6;
  CHECK(dram_row_reads(1e6, rows, 1e6) == 1e6);
  rows.distinct = 0;  // nothing is known of them
  CHECK(dram_row_reads(1e6, rows, 1e6) == 1e6);
}

TEST_CASE("of even access a cache of X of E rows keeps X / E of the lookups") {
  // Worked by hand: 600,000 lookups of 100,000 rows of 1 KiB, a cache of 20,000 rows: 480,000 miss.
  RowWork rows;
  rows.bytes = 1024;
  rows.distinct = even_distinct(6e5, 1e5);
  rows.distinct_growth = even_growth(6e5, 1e5);
  CHECK(dram_row_reads(6e5, rows, 20'000 * 1024.0) == doctest::Approx(480'000).epsilon(1e-6));
  // Without the growth, what cannot be told is left out: each row once.
  rows.distinct_growth = 0;
  CHECK(dram_row_reads(6e5, rows, 20'000 * 1024.0) == rows.distinct);
}

TEST_CASE("a skewed access misses less than an even one of as many lookups and different rows") {
  RowWork rows;
  rows.bytes = 512;
  rows.distinct = 842'000;
  rows.distinct_growth = 0.6;
  const double skewed = dram_row_reads(5.53e6, rows, 40 << 20);
  rows.distinct_growth = 0.01;  // nearly all rows of the table were met
  const double even = dram_row_reads(5.53e6, rows, 40 << 20);
  CHECK(skewed >= rows.distinct);
  CHECK(skewed < even);
}

TEST_CASE("a lookup never takes less time for more work" * doctest::test_suite("long")) {
  for (const char* const gpu : {"V100", "A100", "H100", "B200", "L40"})
    for (const double rows : {1e3, 1e5, 1e7}) {
      double before = 0;
      for (const double dim : {4.0, 16.0, 64.0, 256.0, 1024.0}) {
        const double now = ask(lookup_of(8, rows, dim, 65536, 10), gpu).value;
        CHECK(now >= before);
        before = now;
      }
      before = 0;
      for (const double pooling : {1.0, 2.0, 8.0, 32.0, 128.0}) {
        const double now = ask(lookup_of(8, rows, 64, 65536, pooling), gpu).value;
        CHECK(now >= before);
        before = now;
      }
    }
}

TEST_CASE("a half of a table can take more or less than half of its time: issue and cache decide") {
  const auto half = [](double dim) {
    return ask(lookup_of(4, 1e5, dim / 2, 65536, 9.5), "A100").value /
           ask(lookup_of(4, 1e5, dim, 65536, 9.5), "A100").value;
  };
  CHECK(half(8) > 0.9);
  CHECK(half(512) < 0.5);
}

TEST_CASE("random rows reach the copy rate on A100 and are held back by the reads in flight on H200 and B200") {
  CHECK(constants("A100").random_row_rate(1) == 1381e9);
  CHECK(constants("H200").random_row_rate(1) == doctest::Approx(132 * 12288 / 650e-9));
  CHECK(constants("B200").random_row_rate(1) == doctest::Approx(148 * 12288 / 750e-9));
}

TEST_CASE("an update costs more for an optimizer with state, and for wider keys") {
  ComputeWork work = update_of(8, 1e6, 64, 8192, 16);
  const double plain = ask(work, "A100").value;
  work.rows.update_bytes = 2 * (work.rows.bytes + 8 * 64);  // Adam
  CHECK(ask(work, "A100").value > plain);
  work = update_of(8, 1e6, 64, 8192, 16);
  work.rows.table_rows = std::pow(2.0, 25);  // a fourth pass of the sort
  CHECK(ask(work, "A100").us() - plain * 1e6 > 30);
}

TEST_CASE("a sort takes a pass for each 8 bits of the keys") {
  const GpuConstants gpu = constants("B200");
  const auto passes = [&](int bits) {
    SortWork sort;
    sort.key_bits = bits;
    return (sort_time(1e6, sort, gpu) - gpu.sort_fixed).value;
  };
  CHECK(passes(8) == doctest::Approx(passes(1)));
  CHECK(passes(9) == doctest::Approx(2 * passes(8)));
  CHECK(passes(32) == doctest::Approx(4 * passes(8)));
  CHECK(sort_time(0, SortWork{}, gpu).value == 0);
  // 2^28 pairs of 4 and 4 bytes, ranked at 75 a ns: 20 us + 4 (30 us + 3.579 ms).
  CHECK(sort_time(0x1p28, SortWork{}, gpu).us() == doctest::Approx(20 + 4 * (30 + 3579.14)).epsilon(1e-5));
}

TEST_CASE("a product comes near to the best rate when it is large, and is bound by memory when it is thin") {
  ComputeWork product;
  product.precision = "bf16";
  product.product = {16384, 16384, 16384};
  product.flops = 2 * std::pow(16384.0, 3);
  const double rate = product.flops / ask(product, "H100").value;
  CHECK(rate < 0.803 * 989e12);
  CHECK(rate > 0.75 * 0.803 * 989e12);
  product.product = {65536, 1, 1024};
  product.flops = 2 * 65536.0 * 1024;
  const double least = 65536 * 1024 * 2 / 3000e9;
  CHECK(ask(product, "H100").value > least);
  CHECK(ask(product, "H100", "{name: gpu_kernels, in_situ: 0.5}").value >= ask(product, "H100").value);
}

TEST_CASE("fp32 without tensor cores runs at 0.93 of its peak where the default of the roofline is a half") {
  ComputeWork product;
  product.flops = 1e12;
  CHECK(ask(product, "A100").value == doctest::Approx(1e12 / (0.93 * 19.5e12) + 3e-6));
}

TEST_CASE("a GPU without constants, or without the precision, says what to do") {
  const auto fault = [](const ComputeWork& work, GpuSpec spec, const std::string& options) {
    try {
      make_compute_model(parse_yaml(options, "t"))->seconds(work, spec);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  GpuSpec toy;
  toy.model = "toy";
  CHECK(fault({}, toy, "name: gpu_kernels").find("no constants of the GPU \"toy\"") != std::string::npos);
  CHECK(fault({}, toy, "name: gpu_kernels").find("compute model roofline") != std::string::npos);
  CHECK(fault({}, toy, "{name: gpu_kernels, gpu: A100-SXM4-40GB}").empty());
  CHECK(fault({}, toy, "{name: gpu_kernels, gpu: A101}").find("unknown GPU \"A101\"") != std::string::npos);
  ComputeWork product;
  product.flops = 1;
  product.precision = "bf16";
  CHECK(fault(product, spec_of(constants("V100")), "name: gpu_kernels").find("no rate for products in bf16") !=
        std::string::npos);
}

TEST_CASE("a measured duration replaces the model") {
  ComputeWork work = lookup_of(1, 1e6, 64, 1024, 8);
  work.fixed = {5e-3};
  CHECK(ask(work, "A100").value == 5e-3);
}

TEST_CASE("HugeCTR's update finds its keys sorted, and sums gradients before it writes rows") {
  // Worked by hand, H100: 1,600,000 lookups, 430,000 different rows of 512 B with as much state, 3 x 55,296 vectors,
  // gradients of 256 B: they fill L2 less than fully, so each is read once.
  const GpuConstants gpu = constants("H100-SXM5-80GB");
  ComputeWork work = update_of(1, 1e8, 128, 3 * 55'296, 1);
  work.lookups = 1.6e6;
  work.indexed = true;
  work.rows.distinct = 430'000;
  work.rows.vector_bytes = work.rows.summed_bytes = 256;
  work.rows.update_bytes = 2 * 256 + 4 * 512;
  const double copy = gpu.copy_bandwidth.bytes_per_second, rate = gpu.random_row_rate(gpu.row_update_share);
  const double sums = 430'000.0 * 256, all = 3 * 55'296.0 * 256, l2 = gpu.gather_l2.bytes_per_second;
  REQUIRE(all > gpu.l2_share * static_cast<double>(gpu.l2.count));  // a part is read again
  const double kept = gpu.l2_share * static_cast<double>(gpu.l2.count) / all;
  const double dram = (std::max(all, 1.6e6 * 256 * (1 - kept) * 0.6) + sums) / rate;
  const double reduced = std::max({dram, (1.6e6 * 256 + sums) / l2, 1.6e6 / (gpu.lookups_per_ns * 1e9)});
  const double applied = 430'000.0 * (256 + 4 * 512) / rate;
  CHECK(update_time(work, gpu).value ==
        doctest::Approx(5 * gpu.kernel_fixed.value + 1.6e6 * 12 / copy + reduced + applied).epsilon(1e-9));
  ComputeWork sorting = work;
  sorting.indexed = false;
  CHECK(update_time(work, gpu) < update_time(sorting, gpu));
}

TEST_CASE("a lookup by pointers has a kernel and 12 bytes a lookup more") {
  const GpuConstants gpu = constants("H100-SXM5-80GB");
  const ComputeWork work = lookup_of(8, 1e7, 128, 6912, 10);
  ComputeWork pointers = work;
  pointers.indexed = true;
  const double more = gpu.kernel_fixed.value + work.lookups * 12 / gpu.copy_bandwidth.bytes_per_second;
  CHECK((lookup_time(pointers, gpu) - lookup_time(work, gpu)).value == doctest::Approx(more).epsilon(1e-9));
}

TEST_CASE("an operation that sorts among other things has kernels and passes besides") {
  ComputeWork work;
  work.kind = ComputeWork::Kind::sort;
  work.lookups = 1.44e6;
  const Seconds sort = ask(work, "H100-SXM5-80GB");
  work.kernels = 12;
  work.hbm_bytes = 70 * work.lookups;
  const GpuConstants gpu = constants("H100-SXM5-80GB");
  const double more = 12 * gpu.kernel_fixed.value + work.hbm_bytes / gpu.copy_bandwidth.bytes_per_second;
  CHECK((ask(work, "H100-SXM5-80GB") - sort).value == doctest::Approx(more).epsilon(1e-9));
  work.lookups = 0;
  CHECK(ask(work, "H100-SXM5-80GB").value == 0);
}

}  // namespace shardsim::kernels_test
