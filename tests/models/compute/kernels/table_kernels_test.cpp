#include "models/compute/kernels/table_kernels.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/tree/yaml.h"

namespace shardsim::table_kernels_test {
namespace {

GpuConstants gpu_named(const char* name) {
  return *shipped_gpu_table().find(name);
}

KernelFamily fbgemm_on(const char* gpu) {
  const KernelFamily family = shipped_kernel_family("fbgemm", {});
  return carried_to(family, gpu_named(gpu), gpu_named(family.gpu.c_str()));
}

// `batch` bags of `pooling` ids each of a table of `rows` rows of `dim` floats, drawn by Zipf's law (0: evenly).
TableWork table_of(double rows, double dim, double batch, double pooling, double zipf = 0) {
  AccessSpec spec;
  if (zipf > 0) spec.family = "zipf";
  spec.s = zipf;
  const auto count = static_cast<std::uint64_t>(rows);
  TableWork table{rows, dim, 4 * dim, true, batch, batch * pooling, {}};
  table.reuse = row_reuse(AccessDistribution(spec, count, 1), 0, count, table.lookups);
  return table;
}

double lookup_us(const std::vector<TableWork>& tables, const char* gpu = "H100-SXM5-80GB") {
  return tables_lookup_time(tables, fbgemm_on(gpu), gpu_named(gpu)).us();
}

double update_us(const std::vector<TableWork>& tables, const std::string& optimizer = "rowwise_adagrad",
                 const char* gpu = "H100-SXM5-80GB") {
  return tables_update_time(tables, optimizer, fbgemm_on(gpu), gpu_named(gpu)).us();
}

}  // namespace

TEST_CASE("lanes follow the widest table of a call") {
  CHECK(group_lanes(4, 8) == 8);
  CHECK(group_lanes(32, 8) == 8);
  CHECK(group_lanes(36, 8) == 16);
  CHECK(group_lanes(64, 8) == 16);
  CHECK(group_lanes(68, 8) == 32);
  CHECK(group_lanes(512, 8) == 32);
  CHECK(group_lanes(4, 32) == 32);
  // Narrow tables beside one wide table pay the wide one's lanes.
  const std::vector<TableWork> narrow(9, table_of(1e6, 8, 16384, 20, 1.05));
  std::vector<TableWork> mixed = narrow;
  const TableWork wide = table_of(1e6, 128, 16384, 1);
  mixed.push_back(wide);
  CHECK(lookup_us(mixed) > 1.3 * (lookup_us(narrow) + lookup_us({wide}) - lookup_us({table_of(1, 4, 1, 1)})));
}

TEST_CASE("rows that do not begin at a line of memory touch one more") {
  const TableWork before = table_of(1'000'001, 4, 16384, 1), wide = table_of(4e6, 128, 16384, 50);
  TableWork aligned = before;
  aligned.rows = 1'000'000;
  CHECK(lookup_us({before, wide}) > 1.02 * lookup_us({aligned, wide}));
  TableWork huge = before;  // of more bytes than a whole number holds
  huge.rows = 9e15;
  huge.row_bytes = 1e6;
  CHECK(lookup_us({huge, wide}) > 0);
}

TEST_CASE("no call takes less for more bags, longer bags, more tables or wider rows") {
  for (const double zipf : {0.0, 1.05}) {
    double lookups = 0, updates = 0;
    for (const double batch : {64.0, 1024.0, 16384.0, 262144.0}) {
      const std::vector<TableWork> tables(3, table_of(1e6, 64, batch, 10, zipf));
      CHECK(lookup_us(tables) >= lookups);
      CHECK(update_us(tables) >= updates);
      lookups = lookup_us(tables);
      updates = update_us(tables);
    }
    lookups = updates = 0;
    for (const double pooling : {1.0, 5.0, 40.0, 200.0}) {
      CHECK(lookup_us({table_of(1e6, 64, 4096, pooling, zipf)}) >= lookups);
      CHECK(update_us({table_of(1e6, 64, 4096, pooling, zipf)}) >= updates);
      lookups = lookup_us({table_of(1e6, 64, 4096, pooling, zipf)});
      updates = update_us({table_of(1e6, 64, 4096, pooling, zipf)});
    }
    lookups = updates = 0;
    for (const double dim : {4.0, 16.0, 32.0, 64.0, 128.0, 256.0, 1024.0}) {
      CHECK(lookup_us({table_of(1e6, dim, 16384, 20, zipf)}) >= lookups);
      CHECK(update_us({table_of(1e6, dim, 16384, 20, zipf)}) >= updates);
      lookups = lookup_us({table_of(1e6, dim, 16384, 20, zipf)});
      updates = update_us({table_of(1e6, dim, 16384, 20, zipf)});
    }
    std::vector<TableWork> tables;
    lookups = updates = 0;
    for (int count = 0; count < 20; ++count) {
      tables.push_back(table_of(1e6, 64, 2048, 5, zipf));
      CHECK(lookup_us(tables) >= lookups);
      CHECK(update_us(tables) >= updates);
      lookups = lookup_us(tables);
      updates = update_us(tables);
    }
  }
}

TEST_CASE("wide rows are read no faster than memory is copied") {
  for (const char* gpu : {"H100-SXM5-80GB", "H200-SXM5-141GB", "A100-SXM4-80GB"}) {
    for (const double dim : {256.0, 512.0, 1024.0}) {
      TableWork table = table_of(1e8, dim, 65536, 20);
      for (const bool pooled : {true, false}) {
        table.pooled = pooled;
        const double bytes = table.reuse.distinct * table.row_bytes + table.vectors() * 4 * dim + 8 * table.lookups;
        CHECK(lookup_us({table}, gpu) * 1e-6 >= bytes / gpu_named(gpu).copy_bandwidth.bytes_per_second);
      }
    }
  }
  // Measured on an H100: 259.71 us, of 4 million rows of 512 columns.
  CHECK(lookup_us({table_of(4e6, 512, 16384, 20)}) == doctest::Approx(259.71).epsilon(.08));
}

TEST_CASE("a few long histories are bound by latency, not by bytes") {
  // 512 histories of 200 rows of 64 columns took 117 us on an H100, a tenth of the memory rate
  // (scenarios/measurements/fbgemm/grid_h100.csv).
  TableWork histories = table_of(1e7, 64, 512, 200);
  histories.pooled = false;
  CHECK(lookup_us({histories}) == doctest::Approx(117).epsilon(0.1));
  TableWork twice = table_of(1e7, 64, 1024, 200);  // as many again run beside them
  twice.pooled = false;
  CHECK(lookup_us({twice}) < 1.5 * lookup_us({histories}));
  TableWork longer = table_of(1e7, 64, 512, 400);
  longer.pooled = false;
  CHECK(lookup_us({longer}) > 1.7 * lookup_us({histories}));
}

TEST_CASE("rows that come back cost less to read, and a popular row is a long run of the update") {
  const TableWork spread = table_of(4e6, 128, 16384, 20), hot = table_of(1000, 128, 16384, 20);
  CHECK(lookup_us({hot}) < 0.5 * lookup_us({spread}));
  CHECK(update_us({hot}) < update_us({spread}));
  CHECK(hot.reuse.long_lookups > 0.99 * hot.lookups);
}

TEST_CASE("an optimizer that keeps more for each row takes longer") {
  const std::vector<TableWork> tables(4, table_of(4e6, 128, 16384, 20));
  CHECK(update_us(tables, "none") == update_us(tables, "sgd"));
  CHECK(update_us(tables, "sgd") < update_us(tables, "rowwise_adagrad"));
  CHECK(update_us(tables, "rowwise_adagrad") < update_us(tables, "adagrad"));
  CHECK(update_us(tables, "adagrad") < update_us(tables, "adam"));
}

TEST_CASE("faster memories and more SMs never take longer") {
  const std::vector<TableWork> tables(8, table_of(2e6, 64, 16384, 20, 1.05));
  const char* const order[] = {"V100-SXM2-16GB", "A100-SXM4-40GB",  "A100-SXM4-80GB",
                               "H100-SXM5-80GB", "H200-SXM5-141GB", "B200-SXM-180GB"};
  for (std::size_t i = 1; i < std::size(order); ++i) {
    CHECK(lookup_us(tables, order[i]) <= lookup_us(tables, order[i - 1]));
    CHECK(update_us(tables, "sgd", order[i]) <= update_us(tables, "sgd", order[i - 1]));
  }
}

TEST_CASE("an owner of half of the rows has half of the figures of all") {
  TableWork whole = table_of(1e6, 64, 8192, 20, 1.05), half = whole;
  half.lookups = whole.lookups / 2;
  half.rows = whole.rows / 2;
  CHECK(half.share() == 0.5);
  const double one = lookup_us({whole}), of_half = lookup_us({half});
  CHECK(of_half < one);
  CHECK(of_half > 0.3 * one);
}

TEST_CASE("gpu_kernels takes them where the kernels and the tables are known") {
  const auto ask = [](const std::string& options, const ComputeWork& work) {
    return make_compute_model(parse_yaml(options, "t"))->seconds(work, spec_of(gpu_named("H100"))).us();
  };
  ComputeWork work;
  work.kind = ComputeWork::Kind::lookup;
  work.tables = {table_of(1e6, 64, 8192, 20)};
  work.lookups = work.tables.front().lookups;
  work.hbm_bytes = work.lookups * 256;
  CHECK(ask("{name: gpu_kernels, kernels: fbgemm}", work) == doctest::Approx(lookup_us(work.tables)));
  CHECK(ask("{name: gpu_kernels, kernels: executor}", work) != ask("{name: gpu_kernels, kernels: fbgemm}", work));
  CHECK(ask("name: gpu_kernels", work) == ask("{name: gpu_kernels, kernels: fbgemm}", work));
  const std::string by_sums = "{name: gpu_kernels, kernels: hugectr}";
  CHECK(ask(by_sums, work) != ask("name: gpu_kernels", work));
  ComputeWork sums = work;  // of a planner's closed form
  sums.tables.clear();
  CHECK(ask("{name: gpu_kernels, kernels: fbgemm}", sums) == ask(by_sums, sums));
  ComputeWork on_host = work;
  on_host.host_link = {1e-3};
  CHECK(ask("{name: gpu_kernels, kernels: fbgemm}", on_host) == ask(by_sums, on_host));
}

TEST_CASE("unknown kernels and dims that FBGEMM refuses are refused") {
  const auto fault = [](const std::string& options, double dim) {
    try {
      ComputeWork work;
      work.kind = ComputeWork::Kind::lookup;
      work.tables = {table_of(1e6, dim, 128, 2)};
      work.lookups = 256;
      make_compute_model(parse_yaml(options, "t"))->seconds(work, spec_of(gpu_named("H100")));
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(fault("{name: gpu_kernels, kernels: fbgemm}", 64).empty());
  CHECK(fault("{name: gpu_kernels, kernels: fbgemm}", 6).find("groups of 4 columns, but a table has 6") !=
        std::string::npos);
  CHECK(fault("{name: gpu_kernels, kernels: fbgem}", 64).find("fbgemm") != std::string::npos);
  CHECK(asks_tables(parse_yaml("{name: gpu_kernels, kernels: fbgemm}", "t")));
  CHECK_FALSE(asks_tables(parse_yaml("{name: gpu_kernels, kernels: hugectr}", "t")));
  CHECK(asks_tables(parse_yaml("{name: gpu_kernels}", "t")));
  CHECK_FALSE(asks_tables(parse_yaml("{name: roofline}", "t")));
}

}  // namespace shardsim::table_kernels_test
