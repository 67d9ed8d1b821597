#include "plan/constraints.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "plan/check.h"
#include "plan/memory_model.h"
#include "plan/torchrec_types.h"
#include "tests/plan/hand_context.h"
#include "tests/plan/test_setting.h"

namespace shardsim::constraints_test {
namespace {

// 1,000,000 rows of 256 fp32 values, 1.024 GB, and a tenth of it.
Workload two_tables() {
  Table large = sequence_table("large", 1'000'000), small = sequence_table("small", 100'000);
  large.average_length = small.average_length = 1;
  return workload_of({large, small}, 16);
}

Constraints read(const std::string& yaml) {
  return read_constraints(options(yaml));
}

std::string fault(const std::string& constraints, const std::string& planner) {
  const Plan plan = plan_by(planner, two_tables(), test_cluster(2, 4));
  return error_of([&] { check_constraints(plan, two_tables(), read(constraints), {8, 4}, "somebody"); });
}

std::string misfit(const std::string& constraints, const std::string& hbm) {
  const auto memory = paper_memory();
  return error_of([&] { check_constraints_fit(read(constraints), two_tables(), test_cluster(2, 4, hbm), *memory); });
}

Plan constrained(const std::string& planner, const Constraints& constraints) {
  const auto memory = paper_memory();
  HandContext context{*memory, 1};
  context.constraints = &constraints;
  return make_planner(options(planner))->plan(two_tables(), test_cluster(2, 4), context);
}

}  // namespace

TEST_CASE("a plan that does not keep the constraints is refused by table and constraint") {
  CHECK(fault("{large: {sharding_types: [row_wise, table_wise]}}", "{name: row_wise}").empty());
  CHECK(has(fault("{large: {sharding_types: [flex, table_wise]}}", "{name: row_wise}"),
            "somebody violates the constraints: table 'large' is row_wise, where sharding_types allow flex or "
            "table_wise"));
  CHECK(has(fault("{\"*\": {compute_kernels: [fused_uvm]}, large: {}}", "{name: row_wise}"),
            "table 'small' has the kernel fused"));
  CHECK(fault("{small: {min_partition: 128}}", "{name: column_wise, min_partition: 128}").empty());
  CHECK(has(fault("{small: {min_partition: 128}}", "{name: column_wise, min_partition: 64}"),
            "slices of 64 columns, where min_partition is 128"));
  CHECK(fault("{small: {min_partition: 1024}}", "{name: row_wise}").empty());  // whole
}

TEST_CASE("a name with a hyphen is one in quotes") {
  Workload workload = two_tables();
  workload.tables[0].name = "user-id";
  const auto fault_of = [&](const std::string& yaml) {
    return error_of([&] { check_constraint_names(read(yaml), workload, "cuda"); });
  };
  CHECK(fault_of("{\"user-id\": {min_partition: 32}}").empty());
  CHECK(has(fault_of("{user-id: {min_partition: 32}}"), "Write \"user-id\" in quotes"));
  CHECK(has(fault_of("{\"user-od\": {min_partition: 32}}"), "Did you mean 'user-id'?"));
}

TEST_CASE("caches of key-value stores have the sizes that constraints state") {
  const auto refused = [](const std::string& constraints) { return error_of([&] { read(constraints); }); };
  CHECK(refused("{large: {compute_kernels: [key_value], max_l1_cache_size: 1 MiB, l2_cache_size: 1 GiB}}").empty());
  CHECK(has(refused("{large: {max_l1_cache_size: 1 MiB}}"), "compute_kernels names no kernel of a key-value store"));
  CHECK(has(refused("{large: {compute_kernels: [fused], l2_cache_size: 1 MiB}}"), "'l2_cache_size' has no effect"));
  CHECK(has(refused("{large: {compute_kernels: [key_value], max_l1_cache_size: 0 B}}"), "State a size above 0"));
  Plan plan = plan_by("{name: row_wise}", two_tables(), test_cluster(2, 4));
  const auto other = [&](const std::string& size) {
    const std::string constraints = "{large: {compute_kernels: [key_value], " + size + "}}";
    return error_of([&] { check_constraints(plan, two_tables(), read(constraints), {8, 4}, "somebody"); });
  };
  plan.placements[0].compute_kernel = "key_value";
  plan.placements[0].l2 = Bytes{1 << 20};
  CHECK(other("l2_cache_size: 1 MiB").empty());
  CHECK(has(other("l2_cache_size: 2 MiB"), "has a l2_cache_size of 1 MiB, where the constraint is 2 MiB"));
  CHECK(has(other("max_l1_cache_size: 2 MiB"), "has a max_l1_cache_size of no size"));
}

TEST_CASE("TorchRec's types keep a table whole, and so does row_tiers") {
  const char* const seven =
      "[data_parallel, table_wise, column_wise, row_wise, table_row_wise, table_column_wise, grid_shard]";
  const std::string types = fmt::format("{{\"*\": {{sharding_types: {}}}}}", seven);
  const std::string tiered = "{name: flexshard_2tier, memory_budget: \"300 MB\", cap_at_comm_neutral: false}";
  for (const std::string& constraints : {types, std::string("{\"*\": {row_tiers: false}}")}) {
    CHECK(has(fault(constraints, tiered), "is cut into tiers of rows, which TorchRec does not have"));
    CHECK(fault(constraints, "{name: row_wise}").empty());
  }
  CHECK(fault(fmt::format("{{\"*\": {{sharding_types: {}, row_tiers: true}}}}", seven), tiered).empty());
  CHECK(fault("{\"*\": {sharding_types: [data_parallel, row_wise, flex]}}", tiered).empty());
}

TEST_CASE("torchrec_only keeps sequences whole, and to the types of EmbeddingCollection") {
  const std::string only = "{\"*\": {torchrec_only: true}}";
  const std::string tiered = "{name: flexshard_2tier, memory_budget: \"300 MB\", cap_at_comm_neutral: false}";
  CHECK(has(fault(only, tiered), "is cut into tiers of rows, which TorchRec does not have"));
  for (const char* const type : {"table_row_wise", "table_column_wise", "grid_shard"}) {
    CAPTURE(type);
    const std::string planner = fmt::format("{{name: {}}}", type);
    CHECK(has(fault(only, planner), fmt::format("is {}, and TorchRec's modules of sequence tables have only", type)));
    CHECK(fault("{}", planner).empty());
  }
  for (const char* const type : {"row_wise", "table_wise", "column_wise"})
    CHECK(fault(only, fmt::format("{{name: {}}}", type)).empty());
}

TEST_CASE("torchrec_only refuses rows on a part of the ranks, which other constraints do not") {
  const Plan plan = plan_by("{name: row_wise}", two_tables(), test_cluster(1, 4));
  const auto refused = [&](const std::string& constraints) {
    return error_of([&] { check_constraints(plan, two_tables(), read(constraints), {8, 4}, "somebody"); });
  };
  CHECK(has(refused("{\"*\": {torchrec_only: true}}"),
            "table 'large' is row_wise on 4 of 8 ranks, and TorchRec's modules need a shard of it on each"));
  CHECK(refused("{\"*\": {sharding_types: [row_wise]}}").empty());
}

TEST_CASE("torchrec_only of all tables is one of every table that does not say otherwise") {
  const Constraints only = read(
      "{\"*\": {torchrec_only: true}, large: {sharding_types: [flex, row_wise, grid_shard], row_tiers: true}, "
      "small: {torchrec_only: false}}");
  CHECK_FALSE(only.of("large")->allows_tiers());
  CHECK(only.of("large")->types_of(TableKind::sequence) == std::vector{Strategy::row_wise});
  CHECK(only.of("large")->types_of(TableKind::pooled) == std::vector{Strategy::row_wise, Strategy::grid_shard});
  CHECK(only.of("small")->allows_tiers());
  CHECK(only.of("other")->types_of(TableKind::sequence) == torchrec_types(TableKind::sequence));
}

TEST_CASE("types of which TorchRec has none for such a table are refused") {
  const auto refused = [](const std::string& yaml) {
    return error_of([&] { check_constraint_names(read(yaml), two_tables(), "cuda"); });
  };
  CHECK(
      has(refused("{large: {sharding_types: [flex, grid_shard], torchrec_only: true}}"),
          "constraints of \"large\" allow only flex or grid_shard, which TorchRec does not have for a sequence table"));
  CHECK(refused("{large: {sharding_types: [flex, row_wise], torchrec_only: true}}").empty());
}

TEST_CASE("FlexShard's planners leave sequences that may not be cut to the other planner") {
  const auto tiers = [](const Plan& plan, int table) {
    return std::ranges::count(plan.placements, table, &Placement::table);
  };
  const std::string planner =
      "{name: flexshard_2tier, memory_budget: \"300 MB\", cap_at_comm_neutral: false, pooled: row_wise}";
  const Plan both = constrained(planner, read("{}")), one = constrained(planner, read("{small: {row_tiers: false}}"));
  CHECK(tiers(both, 1) == 2);  // the rows of the small table are the more popular ones
  CHECK(tiers(one, 0) == 2);
  CHECK(tiers(one, 1) == 1);
  CHECK(has(error_of([&] { constrained(planner, read("{\"*\": {row_tiers: false}}")); }),
            "flexshard_2tier cuts tables into tiers of rows, and the constraints allow that for no sequence"));
}

TEST_CASE("constraints that leave no plan are refused with the bytes missing and the smallest change") {
  // By the paper's model a replicated row takes six times its bytes: 6.144 GB on each GPU.
  CHECK(misfit("{large: {sharding_types: [data_parallel]}}", "8 GB").empty());
  const std::string one = misfit("{large: {sharding_types: [data_parallel]}}", "2 GB");
  CHECK(has(one, "no plan meets the constraints: table 'large' needs at least"));
  CHECK(has(one, "The smallest change that helps: allow table_wise"));  // 1.024 GB
  CHECK(has(misfit("{large: {sharding_types: [table_wise]}}", "800 MB"),
            "The smallest change that helps: allow column_wise"));
  CHECK(has(misfit("{\"*\": {sharding_types: [table_wise]}}", "1 MB"), "host memory"));
  CHECK(misfit("{large: {sharding_types: [table_wise], compute_kernels: [fused_uvm]}}", "800 MB").empty());
  // Eight copies of both fit each alone, and 6.7584 GB of them not together with anything less than that.
  const std::string sum = misfit("{\"*\": {sharding_types: [data_parallel]}}", "6.2 GB");
  CHECK(has(sum, "the tables need"));
  CHECK(has(sum, "large ("));
  CHECK(misfit("{}", "1 MB").empty());  // no constraint is to blame
}

TEST_CASE("torchrec and random take what both the scenario and their own constraints allow") {
  const Constraints constraints = read("{large: {sharding_types: [table_wise, row_wise], min_partition: 32}}");
  for (const char* const planner :
       {"{name: torchrec}", "{name: random}", "{name: random, sharding_types: [row_wise]}"}) {
    CAPTURE(planner);
    const Plan plan = constrained(planner, constraints);
    CHECK(error_of([&] { check_constraints(plan, two_tables(), constraints, {8, 4}, planner); }).empty());
  }
  const Plan plan =
      constrained("{name: torchrec, constraints: {large: {sharding_types: [row_wise, column_wise]}}}", constraints);
  CHECK(rows_of(plan, Strategy::row_wise) == 1'000'000);
  CHECK(has(error_of([&] {
              constrained("{name: torchrec, constraints: {large: {sharding_types: [grid_shard]}}}", constraints);
            }),
            "allow no common sharding type"));
}

}  // namespace shardsim::constraints_test
