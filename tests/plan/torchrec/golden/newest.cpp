// The kinds that only version 2026-08 of the planner has cases of.

#include <algorithm>
#include <set>

#include "plan/torchrec/search/planner_run.h"
#include "tests/case_file/compare.h"
#include "tests/plan/torchrec/golden/failure_name.h"
#include "tests/plan/torchrec/golden/inputs.h"
#include "tests/plan/torchrec/golden/kinds.h"

namespace shardsim::golden {
namespace {

using namespace torchrec;

constexpr PlannerVersion kVersion = PlannerVersion::v2026_08;

ConstrainedTable reserved_table(const Json& json) {
  Fields fields(json, "table");
  ConstrainedTable item = plain_table(fields.text("name"), json);
  fields.ignore({"rows", "dim"});
  if (const auto factors = fields.reals("pooling_factors"); !factors.empty()) item.table.pooling_factors = factors;
  item.table.batch_sizes = fields.reals("batch_sizes");
  fields.finish();
  return item;
}

Json reservation_json(const ReservationSettings& settings, const Topology& topology,
                      const std::vector<ConstrainedTable>& tables, const EstimateSettings& estimate) {
  try {
    const Reservation reserved = reserve(settings, topology, tables, estimate);
    const Storage& left = reserved.topology.devices.front();
    return {{"hbm_per_rank_after", left.hbm},
            {"ddr_per_rank_after", left.ddr},
            {"dense_hbm_bytes", reserved.dense.hbm},
            {"dense_ddr_bytes", reserved.dense.ddr},
            {"kjt_hbm_bytes", reserved.kjt.hbm},
            {"kjt_ddr_bytes", reserved.kjt.ddr},
            {"reserved_hbm_fraction", reserved_share(settings, topology)}};
  } catch (const PlannerError& error) {
    return error_json(error.failure(), kVersion);
  }
}

// The rows of a table of a case as its kernels' names say; a name that is none of TorchRec's is a violation of its own.
struct Validated {
  SearchSpace space;
  std::vector<ShardingOption> plan;
  std::size_t unknown = 0;
};

void add_validated(Validated& to, const Json& json) {
  Fields fields(json, "option");
  TableSpec table;
  table.name = fields.text("name");
  ShardingOption option;
  option.table = static_cast<int>(to.space.tables.size());
  option.type = parse_sharding_type(fields.text("sharding_type"), {"option"});
  const std::string kernel = fields.text("compute_kernel");
  if (const Json* factor = fields.given("cache_load_factor")) option.load_factor = factor->get<double>();
  ShardRun run;
  run.storage = {fields.whole("hbm_bytes"), fields.whole("ddr_bytes")};
  fields.finish();
  const auto known = compute_kernel_names();
  if (std::ranges::find(known, kernel) == known.end()) {
    ++to.unknown;
    return;
  }
  option.kernel = parse_compute_kernel(kernel, {"option"});
  option.runs = {run};
  option.summarise();
  to.space.tables.push_back(table);
  to.plan.push_back(option);
}

Storage triple(const Json& json) {
  return {json.at(0), json.at(1), json.at(2)};
}

}  // namespace

std::vector<std::string> check_reservation(const Json& input, const Json& expect) {
  Fields fields(input, "input");
  const Topology topology = read_topology(fields.at("topology"), kVersion);
  EstimateSettings estimate;
  estimate.batch_size = fields.real("batch_size");
  ReservationSettings settings = read_reservation(fields.at("storage_reservation"));
  const auto linear = fields.reals("dense_linear");
  settings.dense_parameter_bytes = (linear.at(0) * linear.at(1) + linear.at(1)) * 4;  // weights and bias, fp32
  std::vector<ConstrainedTable> tables;
  for (const Json& json : fields.at("tables")) tables.push_back(reserved_table(json));
  fields.finish();
  return differences(expect, reservation_json(settings, topology, tables, estimate));
}

std::vector<std::string> check_validate_compute_kernels(const Json& input, const Json& expect) {
  Fields fields(input, "input");
  Validated found;
  for (const Json& option : fields.at("options")) add_validated(found, option);
  fields.finish();
  const std::size_t violations = found.unknown + kernel_violations(found.plan, found.space).size();
  if (violations == 0) return differences(expect, {{"ok", true}});
  return differences(expect, {{"ok", false},
                              {"error_type", failure_name(PlannerFailure::invalid_compute_kernel)},
                              {"violations", violations}});
}

std::vector<std::string> check_storage_compare(const Json& input, const Json& expect) {
  Fields fields(input, "input");
  const Storage a = triple(fields.at("a")), b = triple(fields.at("b")), sum = a + b;
  fields.finish();
  return differences(expect, {{"less", a < b}, {"fits_in", a.fits_in(b)}, {"sum", {sum.hbm, sum.ddr, sum.ssd}}});
}

std::vector<std::string> check_row_wise_buckets(const Json& input, const Json& expect) {
  Fields fields(input, "input");
  TableSpec table;
  table.rows = fields.whole("rows");
  table.dim = fields.whole("dim");
  if (const Json* buckets = fields.given("num_buckets")) table.num_buckets = buckets->get<std::int64_t>();
  Topology topology;
  topology.world_size = static_cast<int>(fields.whole("world_size"));
  fields.finish();
  Json rows = Json::array(), offsets = Json::array();
  try {
    require_buckets(table, ShardingType::row_wise, topology, kVersion);
    for (const ShardRun& run : cut_table(table, ShardingType::row_wise, topology, {})) {
      for (int i = 0; i < run.count; ++i) {
        rows.push_back(run.rows);
        offsets.push_back(run.row_offset_of(i));
      }
    }
  } catch (const PlannerError& error) {
    return differences(expect, error_json(error.failure(), kVersion));
  }
  return differences(expect, {{"rows", rows}, {"offsets", offsets}});
}

}  // namespace shardsim::golden
