#include "program/program_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/case_name.h"
#include "base/text.h"
#include "base/tree/json.h"
#include "base/tree/json_fields.h"
#include "program/program_table.h"
#include "topology/spec/rank_set.h"

namespace shardsim {
namespace {

using RankSets = std::vector<std::vector<int>>;

// In all rank sets of a file: "0-1048575" is short to write and long to hold.
constexpr std::size_t kMostHeldRanks = 1 << 24;
constexpr std::int64_t kMostRead = 1 << 20;  // of small numbers; check_program refuses far smaller ones

// A file holds one number where all ranks have the same. Whole amounts are written without a point, as a person would.
void per_rank(JsonReader& map, std::string_view key, PerRank& numbers, bool) {
  if (!map.has(key)) return;
  if (map.member(key).kind == Tree::Kind::list) return map.field(key, numbers.values);
  map.field(key, numbers.values.front());
}

void per_rank(JsonWriter& map, std::string_view key, const PerRank& numbers, bool always) {
  if (!always && numbers == PerRank{}) return;
  const JsonSlot to = map.slot(key);
  if (numbers.values.size() == 1) return set_amount(to, numbers.values.front());
  to.make_list();
  for (const double value : numbers.values) set_amount(to.append(), value);
}

// The keys of a program file, said once for reading and writing; when it is read, the places are noted, too.
class ProgramFile {
 public:
  explicit ProgramFile(Program& program) : program_(program) {}
  const ProgramPlaces& places() const { return places_; }

  void fields(auto& map) {
    places_.program = map.place();
    map.constant("schema", kProgramSchema);
    map.field("scenario", program_.scenario);
    map.field("case", program_.case_name);
    check_case_name(map);
    map.field("seed", program_.seed);
    map.field("world_size", program_.world_size);
    check_world(map);
    map.field("ranks_per_node", program_.ranks_per_node);
    map.field("batch_per_rank", program_.batch_per_rank);
    map.field("index_batches", program_.index_batches);
    map.field("streams", program_.streams);
    groups(map);
    map.named("matrices", program_.matrices, &Program::Matrix::name, [&](auto& inner, Program::Matrix& each) {
      places_.matrices.push_back(inner.place());
      matrix(inner, each.bytes);
    });
    map.list("tables", program_.tables, [&](auto& inner, Table& each) {
      places_.tables.push_back(inner.place());
      table(inner, each);
    });
    map.list("shards", program_.shards, [&](auto& inner, Program::Shard& each) {
      places_.shards.push_back(inner.place());
      shard(inner, each);
    });
    map.named("fusions", program_.fusions, &Program::Fusion::name, [&](auto& inner, Program::Fusion& each) {
      places_.fusions.push_back(inner.place());
      inner.field("kind", each.kind);
      inner.field("shards", each.shards);
    });
    map.list("ops", program_.ops, [&](auto& inner, Op& each) {
      places_.ops.push_back(inner.place());
      op(inner, each);
    });
  }

 private:
  // Whatever runs the program writes a Timeline of this name.
  void check_case_name(const auto& map) const {
    const std::string fault = case_name_fault(program_.case_name);
    if (map.kReads && !fault.empty())
      throw input_error(map.place_of("case"), "the case name " + excerpt(program_.case_name) + " " + fault,
                        kCaseNameRemedy);
  }

  // Rank sets are read out at once, so the world that they lie in must be one.
  void check_world(const auto& map) const {
    if (program_.world_size >= 1 && program_.world_size <= kMostProgramRanks) return;
    throw input_error(map.place_of("world_size"), fmt::format("'world_size' is {}", program_.world_size),
                      fmt::format("At least 1. At most {}.", kMostProgramRanks));
  }

  std::vector<int> read_ranks(const Tree& tree) {
    std::vector<int> ranks = read_rank_set(tree, program_.world_size);
    held_ranks_ += ranks.size();
    if (held_ranks_ <= kMostHeldRanks) return ranks;
    throw input_error(tree.place, fmt::format("the rank sets hold more than {} ranks", kMostHeldRanks),
                      "Share groups among operations, and leave 'ranks' out where it means all");
  }

  RankSets read_rank_sets(const Tree& tree) {
    RankSets sets;
    for (const Tree& item : JsonReader::items_of(tree)) sets.push_back(read_ranks(item));
    return sets;
  }

  static void write_ranks(JsonSlot to, const std::vector<int>& ranks) {
    const std::string text = rank_set_text(ranks);
    text.empty() ? JsonWriter::write(to, ranks) : to.set(text);
  }

  static void write_rank_sets(JsonSlot to, const RankSets& sets) {
    to.make_list();
    for (const std::vector<int>& set : sets) write_ranks(to.append(), set);
  }

  void groups(JsonReader& map) {
    for (const auto& [name, tree] : map.entries("groups")) {
      places_.groups[name] = tree.place;
      program_.groups[name] = read_rank_sets(tree);
    }
  }
  void groups(JsonWriter& map) {
    map.slot("groups").make_map();
    for (const auto& [name, sets] : program_.groups) write_rank_sets(map.slot("groups")[name], sets);
  }

  static void matrix(auto& map, ByteMatrix& matrix) {
    map.field("kind", matrix.kind);
    map.field("unit_bytes", matrix.unit_bytes);
    if (matrix.kind == ByteMatrix::Kind::dense) {
      map.field("units", matrix.dense);
    } else if (matrix.kind == ByteMatrix::Kind::even) {
      matrix.units.resize(1);
      map.field("units", matrix.units.front());
    } else {
      map.field("units", matrix.units);
    }
    map.take("transposed", matrix.transposed);
  }

  // Every table of a file repeats the bytes of an id and the seed of the hash, which belong to the Program.
  void table(auto& map, Table& table) {
    int id_bytes = program_.id_bytes;
    std::uint64_t hash_seed = program_.hash_seed;
    table_fields(map, table, id_bytes, hash_seed);
    if (program_.tables.empty()) {
      program_.id_bytes = id_bytes;
      program_.hash_seed = hash_seed;
    }
    if (id_bytes == program_.id_bytes && hash_seed == program_.hash_seed) return;
    throw input_error(map.place(), "id_bytes or the seed of the hash differs from the first table's",
                      "They must be the same for all tables of a program.");
  }

  template <typename Number>
  static void interval(auto& map, std::string_view key, Number& first, Number& end) {
    std::vector<Number> ends = {first, end};
    map.field(key, ends);
    if (ends.size() != 2) {
      throw input_error(map.place_of(key), fmt::format("'{}' has {} numbers", key, ends.size()), "Write [FIRST, END).");
    }
    first = ends[0];
    end = ends[1];
  }

  void shard(auto& map, Program::Shard& shard) {
    map.field("table", shard.table);
    map.field("tier", shard.tier);
    map.field("strategy", shard.strategy);
    map.field("order", shard.order);
    map.take("cut", shard.cut);
    map.take("bucket_rows", shard.bucket_rows, false, std::uint64_t{1});
    if (shard.bucket_rows == 0)
      throw input_error(map.place_of("bucket_rows"), "'bucket_rows' is 0",
                        "Write the rows of a bucket, or leave it out.");
    map.take("lookups", shard.lookups);
    interval(map, "rows", shard.row_begin, shard.row_end);
    interval(map, "columns", shard.column_begin, shard.column_end);
    holders(map, shard);
  }
  void holders(JsonReader& map, Program::Shard& shard) {
    const Tree& tree = map.member("holders");
    const bool several =
        tree.kind == Tree::Kind::list && !tree.items.empty() && tree.items.front().kind == Tree::Kind::list;
    shard.holders = several || shard.strategy == Strategy::flex ? read_rank_sets(tree) : RankSets{read_ranks(tree)};
  }
  static void holders(JsonWriter& map, const Program::Shard& shard) {
    if (shard.strategy == Strategy::flex) return write_rank_sets(map.slot("holders"), shard.holders);
    if (shard.holders.size() > 1) return JsonWriter::write(map.slot("holders"), shard.holders);
    write_ranks(map.slot("holders"), shard.holders.front());
  }

  void op(auto& map, Op& op) {
    map.field("id", op.id);
    map.field("name", op.name);
    map.field("class", op.op_class);
    map.field("role", op.role);
    map.index("fusion", op.fusion, program_.fusions);
    std::int64_t ahead = op.batches_ahead;
    map.take("batches_ahead", ahead);
    op.batches_ahead = static_cast<int>(std::min(ahead, kMostRead));
    ranks(map, op);
    map.field("stream", op.stream);
    map.take("after", op.after, true);
    map.take("every", op.every, false, 1);
    if (op.is_collective()) {
      collective(map, op);
    } else if (op.op_class == OpClass::host) {
      map.field("fixed_ns", op.fixed_ns);
    } else {
      compute(map, op);
    }
    map.take("after_previous", op.after_previous);
  }

  void ranks(JsonReader& map, Op& op) {
    if (!map.has("ranks")) return;
    op.ranks = read_ranks(map.member("ranks"));
    if (!op.ranks.empty()) return;
    throw input_error(map.place_of("ranks"), fmt::format("operation {} runs on no rank", excerpt(op.name)),
                      "Leave 'ranks' out to mean all ranks.");
  }
  static void ranks(JsonWriter& map, const Op& op) {
    if (!op.ranks.empty()) write_ranks(map.slot("ranks"), op.ranks);
  }

  void collective(auto& map, Op& op) {
    map.field("group", op.group);
    if (op.op_class == OpClass::all_to_all) {
      map.must_have("matrix");
      map.index("matrix", op.matrix.index, program_.matrices);
      map.take("transposed", op.matrix.transposed);
      map.take("matrix_per_set", op.matrix.per_set);
    } else {
      bytes(map, op);
    }
    map.take("dtype", op.dtype);
    map.take("launch_ns", op.launch_ns);
  }

  // One number, or one per rank set of the group.
  static void bytes(JsonReader& map, Op& op) {
    if (map.member("bytes").kind != Tree::Kind::list) return map.field("bytes", op.bytes);
    map.field("bytes", op.bytes_by_set);
    if (op.bytes_by_set.empty()) {
      throw input_error(map.place_of("bytes"), fmt::format("operation {} has no bytes", excerpt(op.name)),
                        "Write one number, or one per rank set of its group.");
    }
    op.bytes = std::ranges::max(op.bytes_by_set);
  }
  static void bytes(JsonWriter& map, const Op& op) {
    op.bytes_by_set.empty() ? map.field("bytes", op.bytes) : map.field("bytes", op.bytes_by_set);
  }

  static void count(auto& map, std::string_view key, int& value) {
    std::int64_t read = value;
    map.take(key, read);
    value = static_cast<int>(std::clamp(read, -kMostRead, kMostRead));
  }

  static void compute(auto& map, Op& op) {
    const bool touches_rows = op.op_class != OpClass::dense;
    if (touches_rows) {
      map.must_have("shards");
      map.must_have("lookups");
    }
    map.take("shards", op.shards, touches_rows);
    per_rank(map, "lookups", op.lookups, touches_rows);
    map.take("pooled", op.pooled, op.op_class == OpClass::lookup);
    per_rank(map, "bags", op.bags, false);
    map.take("optimizer", op.optimizer);
    per_rank(map, "distinct_rows", op.distinct_rows, op.op_class == OpClass::update);
    per_rank(map, "distinct_growth", op.distinct_growth, false);
    map.list(
        "by_shard", op.tables, [](auto& inner, auto& each) { table_of_op(inner, each); }, false);
    per_rank(map, "row_bytes", op.row_bytes, false);
    per_rank(map, "vector_bytes", op.vector_bytes, false);
    map.take("indexed", op.indexed);
    map.take("in_place", op.in_place);
    count(map, "sort_bits", op.sort_bits);
    count(map, "kernels", op.kernels);
    per_rank(map, "hbm_bytes", op.hbm_bytes, touches_rows);
    per_rank(map, "host_bytes", op.host_bytes, false);
    per_rank(map, "ssd_bytes", op.ssd_bytes, false);
    per_rank(map, "ssd_reads", op.ssd_reads, false);
    per_rank(map, "memory_bytes", op.memory_bytes, false);
    per_rank(map, "flops", op.flops, !touches_rows);
    map.take("precision", op.precision);
    map.list(
        "products", op.products, [](auto& inner, auto& each) { product(inner, each); }, false);
    map.list(
        "by_kernel", op.by_kernel, [](auto& inner, auto& each) { dense_kernel(inner, each); }, false);
    map.take("fixed_ns", op.fixed_ns);
  }

  static void dense_kernel(auto& map, DenseKernel& kernel) {
    map.field("op", kernel.op);
    map.field("kind", kernel.kind);
    map.take("m", kernel.m);
    map.take("n", kernel.n);
    map.take("k", kernel.k);
    map.take("batch", kernel.batch);
    map.take("bytes", kernel.bytes);
    map.take("fresh", kernel.fresh);
    map.take("elements", kernel.elements);
    map.take("share", kernel.share);
    map.take("count", kernel.count);
    map.take("calls", kernel.calls);
  }

  static void table_of_op(auto& map, OpTable& table) {
    map.field("bags", table.bags);
    per_rank(map, "lookups", table.lookups, true);
    map.field("of_lookups", table.reuse.lookups);
    map.field("distinct", table.reuse.distinct);
    map.field("long_lookups", table.reuse.long_lookups);
    map.field("long_rows", table.reuse.long_rows);
    map.field("long_pieces", table.reuse.long_pieces);
    map.field("largest", table.reuse.largest);
    missed(map, table.reuse);
  }

  static void missed(auto& map, RowReuse& reuse) {
    std::vector<double> misses(reuse.missed.begin(), reuse.missed.end());
    map.field("missed", misses);
    if (misses.size() != reuse.missed.size())
      throw input_error(map.place_of("missed"), fmt::format("'missed' has {} numbers", misses.size()),
                        fmt::format("Write {}, of caches of 4, 16, 64 ... rows.", reuse.missed.size()));
    std::ranges::copy(misses, reuse.missed.begin());
  }

  static void product(auto& map, OpProduct& product) {
    per_rank(map, "m", product.m, true);
    per_rank(map, "n", product.n, true);
    per_rank(map, "k", product.k, true);
    map.take("count", product.count, false, 1);
    map.take("share", product.share);
  }

  Program& program_;
  ProgramPlaces places_;
  std::size_t held_ranks_ = 0;
};

}  // namespace

std::string program_to_json(const Program& program) {
  check_program(program, Place{"the program", 0, 0});
  Program copy = program;
  nlohmann::ordered_json json;
  JsonWriter map{JsonSlot(json)};
  ProgramFile(copy).fields(map);
  // A path need not be UTF-8; JSON must be.
  return json.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

Program program_from_tree(const Tree& tree) {
  Program program;
  ProgramFile file(program);
  JsonReader map(tree, "", JsonReader::Keys::known);
  std::string schema;
  map.take("schema", schema);
  if (schema == "shardsim.program/1") {
    throw input_error(map.place_of("schema"),
                      "this program was written by an older version, which did not say what each operation is for",
                      "Lower the scenario again: shardsim lower SCENARIO --case NAME -o FILE");
  }
  file.fields(map);
  map.finish();
  check_program(program, file.places());
  return program;
}

Program read_program_file(const std::string& path) {
  return program_from_tree(read_json_file(path));
}

}  // namespace shardsim
