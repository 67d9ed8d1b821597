#include "sim/program/program_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "base/text.h"
#include "base/tree/json.h"
#include "base/tree/map_reader.h"
#include "sim/program/program_table.h"
#include "sim/program/program_values.h"
#include "topology/spec/rank_set.h"

namespace shardsim {
namespace {

// In all rank sets of a file: "0-1048575" is short to write and long to hold.
constexpr std::size_t kMostHeldRanks = 1 << 24;
constexpr std::size_t kMostNamesShown = 20;
constexpr std::int64_t kMostRead = 1 << 20;  // of small numbers; check_program refuses far smaller ones

class ProgramReader {
 public:
  explicit ProgramReader(const Tree& tree) : reader_(tree, "") { places_.program = tree.place; }

  Program read() {
    read_schema();
    read_header();
    for (const auto& [name, tree] : named_entries(reader_, "groups")) read_group(name, tree);
    for (const auto& [name, tree] : named_entries(reader_, "matrices")) read_matrix(name, tree);
    for (const Tree& tree : reader_.list("tables")) read_table(tree);
    for (const Tree& tree : reader_.list("shards")) read_shard(tree);
    for (const auto& [name, tree] : named_entries(reader_, "fusions")) read_fusion(name, tree);
    for (const Tree& tree : reader_.list("ops")) read_op(tree);
    reader_.finish();
    check_program(program_, places_);
    return std::move(program_);
  }

 private:
  void read_schema() {
    if (reader_.text("schema") == "shardsim.program/1") {
      throw input_error(reader_.place_of("schema"),
                        "this program was written by an older version, which did not say what each operation is for",
                        "Lower the scenario again: shardsim lower SCENARIO --case NAME -o FILE");
    }
    reader_.choice("schema", {kProgramSchema});
  }

  void read_header() {
    program_.scenario = reader_.text("scenario");
    program_.case_name = reader_.text("case");
    reader_.required("seed");
    program_.seed = static_cast<std::uint64_t>(reader_.count_from("seed", 0, 0));
    program_.world_size = small_count(reader_, "world_size", kMostProgramRanks);
    program_.ranks_per_node = small_count(reader_, "ranks_per_node", kMostProgramRanks);
    program_.batch_per_rank = reader_.count("batch_per_rank");
    program_.index_batches = small_count(reader_, "index_batches", std::numeric_limits<int>::max());
    program_.streams = reader_.texts("streams");
  }

  std::vector<int> read_ranks(const Tree& tree) {
    std::vector<int> ranks = read_rank_set(tree, program_.world_size);
    held_ranks_ += ranks.size();
    if (held_ranks_ > kMostHeldRanks) {
      throw input_error(tree.place, fmt::format("the rank sets hold more than {} ranks", kMostHeldRanks),
                        "Share groups among operations, and leave 'ranks' out where it means all");
    }
    return ranks;
  }

  std::vector<std::vector<int>> read_rank_sets(const Tree& tree) {
    std::vector<std::vector<int>> sets;
    for (const Tree& item : items_of(tree, "a list of rank sets")) sets.push_back(read_ranks(item));
    return sets;
  }

  void read_group(const std::string& name, const Tree& tree) {
    places_.groups[name] = tree.place;
    program_.groups[name] = read_rank_sets(tree);
  }

  void read_matrix(const std::string& name, const Tree& tree);
  void read_table(const Tree& tree);
  void read_shard(const Tree& tree);
  void read_fusion(const std::string& name, const Tree& tree);
  void read_op(const Tree& tree);
  void read_role(MapReader& reader, Op& op) const;
  void read_collective(MapReader& reader, Op& op) const;
  static void read_bytes(MapReader& reader, Op& op);
  static void read_compute(MapReader& reader, Op& op);

  // The index of what the key names.
  template <typename Named>
  static int find(MapReader& reader, std::string_view key, const std::vector<Named>& all) {
    const std::string name = reader.text(key);
    const auto found = std::ranges::find(all, name, &Named::name);
    if (found != all.end()) return static_cast<int>(found - all.begin());
    std::vector<std::string> known;
    for (const Named& one : all) known.push_back(excerpt(one.name));
    known.resize(std::min(known.size(), kMostNamesShown));
    throw input_error(reader.place_of(key), fmt::format("unknown {} {}", key, excerpt(name)),
                      known_names_hint(excerpt(name), known));
  }

  MapReader reader_;
  Program program_;
  ProgramPlaces places_;
  std::size_t held_ranks_ = 0;
};

void ProgramReader::read_matrix(const std::string& name, const Tree& tree) {
  places_.matrices.push_back(tree.place);
  MapReader reader(tree, "matrices." + name);
  ByteMatrix& matrix = program_.matrices.emplace_back(Program::Matrix{name, {}}).bytes;
  const std::string kind = reader.choice("kind", {"even", "by_destination", "by_source", "dense"});
  matrix.unit_bytes = reader.count("unit_bytes");
  const Tree& units = reader.required("units");
  if (kind == "dense") {
    matrix.kind = ByteMatrix::Kind::dense;
    for (const Tree& row : items_of(units, "a list of lists")) matrix.dense.push_back(read_unit_list(row));
  } else if (kind == "even") {
    matrix.units = {read_units(units)};
  } else {
    matrix.kind = kind == "by_source" ? ByteMatrix::Kind::by_source : ByteMatrix::Kind::by_destination;
    matrix.units = read_unit_list(units);
  }
  matrix.transposed = reader.flag("transposed", false);
  reader.finish();
}

void ProgramReader::read_table(const Tree& tree) {
  const ProgramTable read = read_program_table(tree, fmt::format("tables.{}", program_.tables.size()));
  const bool first = program_.tables.empty();
  if (first) {
    program_.id_bytes = static_cast<int>(read.id_bytes);
    program_.hash_seed = read.hash_seed;
  }
  if (read.id_bytes != program_.id_bytes || read.hash_seed != program_.hash_seed) {
    throw input_error(tree.place, "id_bytes or the seed of the hash differs from the first table's",
                      "They are the same for all tables of a program.");
  }
  program_.tables.push_back(read.table);
  places_.tables.push_back(tree.place);
}

void ProgramReader::read_shard(const Tree& tree) {
  MapReader reader(tree, fmt::format("shards.{}", program_.shards.size()));
  const auto interval = [&reader](std::string_view key) {
    const std::vector<Tree>& ends = reader.list(key);
    if (ends.size() != 2) {
      throw input_error(reader.place_of(key), fmt::format("'{}' has {} numbers", key, ends.size()),
                        "Write [FIRST, END).");
    }
    return std::pair{read_units(ends[0]), read_units(ends[1])};
  };
  Program::Shard shard;
  shard.table = whole(reader.required("table"), 0);
  const Tree& tier = reader.required("tier");
  shard.tier = tier.kind == Tree::Kind::scalar && tier.scalar == "-1" ? -1 : whole(tier, 0);
  shard.strategy = parse_strategy(reader.text("strategy"), reader.place_of("strategy").text());
  shard.order = reader.choice("order", {"popularity", "row_id"});
  std::tie(shard.row_begin, shard.row_end) = interval("rows");
  std::tie(shard.column_begin, shard.column_end) = interval("columns");
  const Tree& holders = reader.required("holders");
  if (shard.strategy == Strategy::flex) {
    shard.holders = read_rank_sets(holders);
  } else {
    shard.holders.push_back(read_ranks(holders));
  }
  reader.finish();
  program_.shards.push_back(std::move(shard));
  places_.shards.push_back(tree.place);
}

void ProgramReader::read_fusion(const std::string& name, const Tree& tree) {
  places_.fusions.push_back(tree.place);
  MapReader reader(tree, "fusions." + name);
  Program::Fusion& fusion = program_.fusions.emplace_back();
  fusion.name = name;
  fusion.kind = reader.choice("kind", {"pooled", "sequence"}) == "pooled" ? TableKind::pooled : TableKind::sequence;
  fusion.shards = read_ids(reader, "shards");
  reader.finish();
}

void ProgramReader::read_op(const Tree& tree) {
  MapReader reader(tree, fmt::format("ops.{}", program_.ops.size()));
  Op op;
  op.id = whole(reader.required("id"), 0);
  op.name = reader.text("name");
  op.op_class = *find_op_class(reader.choice("class", op_class_names()));
  read_role(reader, op);
  if (const Tree* const ranks = reader.value("ranks")) {
    op.ranks = read_ranks(*ranks);
    if (op.ranks.empty()) {
      throw input_error(ranks->place, fmt::format("operation {} runs on no rank", excerpt(op.name)),
                        "Leave 'ranks' out to mean all ranks.");
    }
  }
  op.stream = whole(reader.required("stream"), 0);
  op.after = read_ids(reader, "after");
  op.after_previous = read_ids(reader, "after_previous");
  if (op.is_collective()) {
    read_collective(reader, op);
  } else {
    read_compute(reader, op);
  }
  reader.finish();
  program_.ops.push_back(std::move(op));
  places_.ops.push_back(tree.place);
}

void ProgramReader::read_role(MapReader& reader, Op& op) const {
  op.role = *find_op_role(reader.choice("role", op_role_names()));
  op.batches_ahead = static_cast<int>(std::min<std::int64_t>(reader.count_from("batches_ahead", 0, 0), kMostRead));
  if (!reader.has("fusion")) return;
  op.fusion = find(reader, "fusion", program_.fusions);
}

void ProgramReader::read_collective(MapReader& reader, Op& op) const {
  op.group = reader.text("group");
  if (op.op_class == OpClass::all_to_all) {
    op.matrix.index = find(reader, "matrix", program_.matrices);
    op.matrix.transposed = reader.flag("transposed", false);
  } else {
    read_bytes(reader, op);
  }
  op.dtype = reader.text("dtype", "");
}

// One number, or one per rank set of the group.
void ProgramReader::read_bytes(MapReader& reader, Op& op) {
  const Tree& tree = reader.required("bytes");
  if (tree.kind != Tree::Kind::list) {
    op.bytes = reader.count_from("bytes", 0, 0);
    return;
  }
  op.bytes_by_set = read_unit_list(tree);
  if (op.bytes_by_set.empty()) {
    throw input_error(tree.place, fmt::format("operation {} has no bytes", excerpt(op.name)),
                      "Write one number, or one per rank set of its group.");
  }
  op.bytes = *std::max_element(op.bytes_by_set.begin(), op.bytes_by_set.end());
}

void ProgramReader::read_compute(MapReader& reader, Op& op) {
  if (op.op_class != OpClass::dense) {
    reader.required("shards");
    reader.required("lookups");
  }
  op.shards = read_ids(reader, "shards");
  op.lookups = read_per_rank(reader, "lookups");
  op.pooled = reader.flag("pooled", false);
  op.bags = read_per_rank(reader, "bags");
  op.hbm_bytes = read_per_rank(reader, "hbm_bytes");
  op.host_bytes = read_per_rank(reader, "host_bytes");
  op.flops = read_per_rank(reader, "flops");
  op.precision = reader.text("precision", "");
  op.optimizer = reader.text("optimizer", "");
  op.distinct_rows = read_per_rank(reader, "distinct_rows");
  op.fixed_ns = reader.count_from("fixed_ns", 0, 0);
}

}  // namespace

Program program_from_tree(const Tree& tree) {
  return ProgramReader(tree).read();
}

Program read_program_file(const std::string& path) {
  return program_from_tree(read_json_file(path));
}

}  // namespace shardsim
