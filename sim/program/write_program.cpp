#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/program/program_file.h"
#include "sim/program/program_table.h"
#include "topology/spec/rank_set.h"

namespace shardsim {
namespace {

using Json = nlohmann::ordered_json;

Json rank_set(const std::vector<int>& ranks) {
  const std::string text = rank_set_text(ranks);
  return text.empty() ? Json(ranks) : Json(text);
}

Json rank_sets(const std::vector<std::vector<int>>& sets) {
  Json list = Json::array();
  for (const std::vector<int>& set : sets) list.push_back(rank_set(set));
  return list;
}

// Whole amounts are written without a point, as a person would.
Json amount(double value) {
  if (value == std::floor(value) && value < 9007199254740992.0) return static_cast<std::int64_t>(value);
  return value;
}

Json amounts(const PerRank& numbers) {
  if (numbers.values.size() == 1) return amount(numbers.values.front());
  Json list = Json::array();
  for (const double value : numbers.values) list.push_back(amount(value));
  return list;
}

bool is_zero(const PerRank& numbers) {
  return numbers == PerRank{};
}

void write_units(Json& json, const ByteMatrix& matrix) {
  switch (matrix.kind) {
    case ByteMatrix::Kind::even:
      json["kind"] = "even";
      break;
    case ByteMatrix::Kind::by_destination:
      json["kind"] = "by_destination";
      break;
    case ByteMatrix::Kind::by_source:
      json["kind"] = "by_source";
      break;
    case ByteMatrix::Kind::dense:
      json["kind"] = "dense";
      break;
  }
  json["unit_bytes"] = matrix.unit_bytes;
  if (matrix.kind == ByteMatrix::Kind::even) {
    json["units"] = matrix.units.front();
  } else if (matrix.kind == ByteMatrix::Kind::dense) {
    json["units"] = matrix.dense;
  } else {
    json["units"] = matrix.units;
  }
  if (matrix.transposed) json["transposed"] = true;
}

Json matrices(const Program& program) {
  Json json = Json::object();
  for (const auto& [name, matrix] : program.matrices) write_units(json[name], matrix);
  return json;
}

Json access(const AccessSpec& spec) {
  Json json{{"family", spec.family}};
  if (spec.family == "zipf") json["s"] = spec.s;
  if (spec.family == "zipf_mandelbrot") {
    json["q"] = spec.q;
    json["s"] = spec.s;
    if (spec.c != 0) json["c"] = spec.c;
  }
  if (spec.family == "log_normal") json["sigma"] = spec.sigma;
  if (spec.family == "explicit") json["p"] = spec.p;
  if (spec.family == "counts") {
    json["file"] = spec.file;
    json["table"] = spec.table;
  }
  if (spec.family == "piecewise_power_law") {
    Json& knots = json["knots"] = Json::array();
    for (const AccessSpec::Knot& knot : spec.knots) knots.push_back({{"rank", amount(knot.rank)}, {"ln_p", knot.ln_p}});
  }
  if (spec.rescale) json["rescale"] = true;
  return json;
}

Json runtime(const ObservedAccess& observed) {
  Json json{{"average_length", observed.average_length}, {"shares", Json::array()}};
  for (const ObservedAccess::Share& share : observed.shares) {
    json["shares"].push_back({{"rows", share.rows}, {"share", share.share}});
  }
  json["source"] = observed.source;
  return json;
}

Json features(const std::vector<Feature>& list) {
  Json json = Json::array();
  for (const Feature& feature : list) {
    json.push_back({{"name", feature.name},
                    {"pooling_factor", feature.pooling_factor},
                    {"num_poolings", feature.num_poolings},
                    {"weighted", feature.weighted}});
  }
  return json;
}

// What the workload says beyond the least that an executor needs is written only where it differs from the reader's
// default, so that simple programs stay short.
void write_table_extras(Json& json, const Table& table) {
  if (table.pooling != "sum") json["pooling"] = table.pooling;
  if (table.features != default_features(table.name)) json["features"] = features(table.features);
  if (table.average_length != default_average_length(table)) json["average_length"] = table.average_length;
  if (table.length_family != "fixed") {
    json["length_distribution"] = {
        {"family", table.length_family}, {"sigma", table.length_sigma}, {"file", table.length_file}};
  }
}

Json table_json(const Table& table, const Program& program) {
  Json json{{"name", table.name},
            {"rows", table.rows},
            {"dim", table.dim},
            {"dtype", dtype_name(table.dtype)},
            {"dtype_bytes", dtype_bytes(table.dtype)},
            {"id_bytes", program.id_bytes},
            {"kind", table.kind == TableKind::sequence ? "sequence" : "pooled"}};
  write_table_extras(json, table);
  json["access"] = access(table.access);
  if (table.runtime) json["runtime"] = runtime(*table.runtime);
  json["hash"] = {{"name", "feistel_splitmix/1"}, {"seed", program.hash_seed}};
  return json;
}

Json shard_json(const Program::Shard& shard) {
  return {{"table", shard.table},
          {"tier", shard.tier},
          {"strategy", strategy_name(shard.strategy)},
          {"order", shard.order},
          {"rows", {shard.row_begin, shard.row_end}},
          {"columns", {shard.column_begin, shard.column_end}},
          {"holders", shard.strategy == Strategy::flex ? rank_sets(shard.holders) : rank_set(shard.holders.front())}};
}

Json fusions(const Program& program) {
  Json json = Json::object();
  for (const Program::Fusion& fusion : program.fusions) {
    json[fusion.name] = {{"kind", fusion.kind == TableKind::sequence ? "sequence" : "pooled"},
                         {"shards", fusion.shards}};
  }
  return json;
}

void write_collective(Json& json, const Op& op, const Program& program) {
  json["group"] = op.group;
  if (op.op_class == OpClass::all_to_all) {
    json["matrix"] = program.matrices[static_cast<std::size_t>(op.matrix.index)].name;
    if (op.matrix.transposed) json["transposed"] = true;
  } else {
    json["bytes"] = op.bytes_by_set.empty() ? Json(op.bytes) : Json(op.bytes_by_set);
  }
  if (!op.dtype.empty()) json["dtype"] = op.dtype;
}

void write_compute(Json& json, const Op& op) {
  const bool touches_rows = op.op_class != OpClass::dense;
  if (touches_rows || !op.shards.empty()) json["shards"] = op.shards;
  if (touches_rows || !is_zero(op.lookups)) json["lookups"] = amounts(op.lookups);
  if (op.op_class == OpClass::lookup || op.pooled) json["pooled"] = op.pooled;
  if (!is_zero(op.bags)) json["bags"] = amounts(op.bags);
  if (!op.optimizer.empty()) json["optimizer"] = op.optimizer;
  if (op.op_class == OpClass::update || !is_zero(op.distinct_rows)) json["distinct_rows"] = amounts(op.distinct_rows);
  if (touches_rows || !is_zero(op.hbm_bytes)) json["hbm_bytes"] = amounts(op.hbm_bytes);
  if (!is_zero(op.host_bytes)) json["host_bytes"] = amounts(op.host_bytes);
  if (!touches_rows || !is_zero(op.flops)) json["flops"] = amounts(op.flops);
  if (!op.precision.empty()) json["precision"] = op.precision;
  if (op.fixed_ns != 0) json["fixed_ns"] = op.fixed_ns;
}

Json op_json(const Op& op, const Program& program) {
  Json json{{"id", op.id}, {"name", op.name}, {"class", op_class_name(op.op_class)}, {"role", op_role_name(op.role)}};
  if (op.fusion >= 0) json["fusion"] = program.fusions[static_cast<std::size_t>(op.fusion)].name;
  if (op.batches_ahead > 0) json["batches_ahead"] = op.batches_ahead;
  if (!op.ranks.empty()) json["ranks"] = rank_set(op.ranks);
  json["stream"] = op.stream;
  json["after"] = op.after;
  if (op.is_collective()) {
    write_collective(json, op, program);
  } else {
    write_compute(json, op);
  }
  if (!op.after_previous.empty()) json["after_previous"] = op.after_previous;
  return json;
}

}  // namespace

std::string program_to_json(const Program& program) {
  check_program(program, Place{"the program", 0, 0});
  Json json{{"schema", kProgramSchema},
            {"scenario", program.scenario},
            {"case", program.case_name},
            {"seed", program.seed},
            {"world_size", program.world_size},
            {"ranks_per_node", program.ranks_per_node},
            {"batch_per_rank", program.batch_per_rank},
            {"index_batches", program.index_batches},
            {"streams", program.streams},
            {"groups", Json::object()},
            {"matrices", matrices(program)},
            {"tables", Json::array()},
            {"shards", Json::array()},
            {"fusions", fusions(program)},
            {"ops", Json::array()}};
  for (const auto& [name, sets] : program.groups) json["groups"][name] = rank_sets(sets);
  for (const Table& table : program.tables) json["tables"].push_back(table_json(table, program));
  for (const Program::Shard& shard : program.shards) json["shards"].push_back(shard_json(shard));
  for (const Op& op : program.ops) json["ops"].push_back(op_json(op, program));
  // A path need not be UTF-8; JSON must be.
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace shardsim
