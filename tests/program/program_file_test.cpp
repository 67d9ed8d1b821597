#include "program/program_file.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/tree/json.h"
#include "plan/planner.h"
#include "sim/lower/lower.h"
#include "study/scenario/scenario.h"
#include "tests/base/error_text.h"

namespace shardsim::program_file_test {

using Json = nlohmann::ordered_json;

namespace {

std::string toy_text() {
  return read_file(SHARDSIM_SOURCE_DIR "/tests/program/data/toy_program.json");
}

Program read(const std::string& text) {
  return program_from_tree(parse_json(text, "p.json"));
}

std::string error_of(const std::string& text) {
  return input_error_of([&] { read(text); });
}

std::string with(std::string text, const std::string& piece, const std::string& by, bool everywhere = false) {
  std::size_t at = text.find(piece);
  REQUIRE(at != std::string::npos);
  do {
    text.replace(at, piece.size(), by);
    at = text.find(piece, at + by.size());
  } while (everywhere && at != std::string::npos);
  return text;
}

// The toy program with one piece of its text replaced.
std::string spoiled(const std::string& piece, const std::string& by) {
  return with(toy_text(), piece, by);
}

bool says(const std::string& message, const std::string& part) {
  INFO(message);
  return message.starts_with("p.json:") && message.find(part) != std::string::npos &&
         message.find('\n') == std::string::npos;
}

std::int64_t off_node(const ByteMatrix& matrix, int source) {
  std::int64_t bytes = 0;
  for (int to = 0; to < 8; ++to) {
    if (to / 4 != source / 4) bytes += matrix.bytes_between(source, to, 8);
  }
  return bytes;
}

}  // namespace

TEST_CASE("the toy program is read as it is written") {
  const Program program = read(toy_text());
  CHECK(program.scenario == "scenarios/toy_flexshard.yaml");
  CHECK(program.case_name == "main");
  CHECK(program.seed == 7);
  CHECK(program.hash_seed == 7);
  CHECK(program.id_bytes == 8);
  CHECK(program.world_size == 8);
  CHECK(program.groups.at("cross_node") == std::vector<std::vector<int>>{{0, 4}, {1, 5}, {2, 6}, {3, 7}});
  CHECK(program.tables[0].access.knots[1].ln_p == -8.0);
  CHECK(program.shards[1].holders == std::vector<std::vector<int>>{{0, 1, 2, 3}, {4, 5, 6, 7}});
  CHECK(program.shards[0].tier == 0);
  REQUIRE(program.ops.size() == 18);
  CHECK(program.ops[0].role == OpRole::exchange_ids);
  CHECK(program.ops[10].matrix == MatrixUse{index_named(program.matrices, "rw_rows"), true});
  CHECK(program.fusions[static_cast<std::size_t>(program.ops[2].fusion)] ==
        Program::Fusion{"flex", TableKind::sequence, {1}});
  CHECK(program.ops[2].after_previous == std::vector<int>{17});
  CHECK(program.ops[14].bytes == 51200);
  CHECK(program.ops[7].fixed_ns == 20000);
}

// The byte counts that the example states: 640 lookups of 256 B per rank, half of them in the row-wise tier.
TEST_CASE("the toy program moves the bytes worked out by hand") {
  const Program program = read(toy_text());
  const auto direction = [&](const std::string& name, bool backward) {
    return resolve_matrix(program, {index_named(program.matrices, name), backward});
  };
  for (const bool backward : {false, true}) {
    const ByteMatrix matrix = direction("rw_rows", backward);
    for (int rank = 0; rank < 8; ++rank) {
      CHECK(matrix.bytes_sent(rank, 8) == 81920);
      CHECK(matrix.bytes_received(rank, 8) == 81920);
      CHECK(off_node(matrix, rank) == 40960);
      CHECK(matrix.units_between(rank, (rank + 3) % 8, 8) == 40);
    }
  }
  for (const bool backward : {false, true}) {
    const ByteMatrix matrix = direction("flex_rows", backward);
    for (int rank = 0; rank < 4; ++rank) {
      CHECK(matrix.bytes_sent(rank, 4) - matrix.bytes_between(rank, rank, 4) == 30720);
      CHECK(matrix.bytes_received(rank, 4) - matrix.bytes_between(rank, rank, 4) == 30720);
    }
  }
  CHECK(program.ops[14].bytes == 200 * program.tables[0].row_bytes());
  CHECK(program.ops[15].bytes == 64 * program.tables[0].row_bytes());
}

TEST_CASE("a text is written in quotes") {
  CHECK(says(error_of(spoiled("\"scenarios/toy_flexshard.yaml\"", "5")), "scenario: a text is expected here"));
}

TEST_CASE("writing what was read gives the same bytes, key by key in the order of the format") {
  CHECK(program_to_json(read(toy_text())) == Json::parse(toy_text()).dump(1) + "\n");
}

TEST_CASE("reading what was written gives an equal program") {
  const Program program = read(toy_text());
  CHECK(read(program_to_json(program)) == program);
}

TEST_CASE("nothing of a rich program is lost on the way through a file") {
  Program program = read(toy_text());
  Table& table = program.tables[0];
  table.kind = TableKind::pooled;
  table.pooling = "mean";
  table.dtype = Dtype::bf16;
  table.features = {{"a", 2.5, 1, true}, {"b", 1, 3, false}};
  table.access = {};
  table.access.family = "zipf";
  table.access.s = 1.05;
  table.average_length = 0.1;
  table.lengths.family = "log_normal";
  table.lengths.sigma = 0.3;
  table.row_order = RowOrder::popularity;
  table.bag_ids = BagIds::first_id;
  table.runtime = ObservedAccess{927.376709, {{100, 0.25}, {8000, 1}}, "a paper"};
  Table other = table;
  other.name = "other";
  other.kind = TableKind::sequence;
  other.index_dedup = true;
  other.pooling = "sum";
  other.lengths = {};
  other.lengths.family = "histogram";
  other.lengths.lengths = {{0, 0.25}, {2, 0.5}, {4, 0.25}};
  other.features = {{"c", 2, 1, false}};
  other.access.family = "explicit";
  other.access.s = 0;
  other.access.p = {0.5, 1.0 / 3, 1e-300};
  other.rows = 3;
  other.runtime.reset();
  other.average_length = 0;  // as the probabilities say
  other.average_length = other.distribution().total();
  program.tables.push_back(other);
  for (Program::Fusion& fusion : program.fusions) fusion.kind = TableKind::pooled;
  for (Op& op : program.ops) op.pooled = op.op_class == OpClass::lookup;
  program.shards[0].strategy = Strategy::table_wise;
  program.shards[0].holders = {{5}};
  program.shards[0].tier = -1;
  program.shards[0].order = "row_id";
  program.shards[2].holders = {{0, 5, 3}};
  program.matrices.push_back({"dense", {ByteMatrix::Kind::dense, 4, {}, {{1, 2}, {3, 4}}, false}});
  program.matrices.push_back({"source", {ByteMatrix::Kind::by_source, 4, {1, 2}, {}, true}});
  program.ops[0].batches_ahead = 2;
  program.ops[1].role = OpRole::none;
  program.ops[1].fusion = -1;
  program.ops[2].lookups.values = {1, 2, 3, 4, 5, 6, 7, 8.5};
  program.ops[12].lookups = program.ops[2].lookups;  // what is looked up is updated
  program.ops[4].ranks = program.ops[11].ranks = {1, 6, 2};
  program.ops[2].bags.values = {32};
  program.ops[2].distinct_growth.values = {0.5};
  for (std::size_t i = 0; i < program.ops[2].shards.size(); ++i) {
    OpTable& told = program.ops[2].tables.emplace_back();
    told.bags = 32;
    told.lookups.values = {1, 2, 3, 4, 5, 6, 7, 8.5};
    told.reuse = {36.5, 30, 4, 0.5, 0.75, 3, {36, 35, 34, 33, 32, 31, 30, 30, 30, 30, 30, 30}};
  }
  program.ops[2].row_bytes.values = {256};
  program.ops[2].vector_bytes.values = {128, 0, 128, 0, 128, 0, 128, 0};
  program.ops[2].indexed = true;
  program.ops[7].sort_bits = 32;
  program.ops[7].kernels = 12;
  program.ops[7].host_bytes.values = {0, 1, 2, 3, 4, 5, 6, 7};
  program.ops[14].bytes_by_set = {51200, 0, 12800, 51200};  // one number per rank set of cross_node
  program.ops[4].flops.values = {0.1, 0, 1e22};
  program.ops[7].shards = {1};
  program.ops[7].optimizer = "sgd";
  const std::string text = program_to_json(program);
  CHECK(read(text) == program);
  CHECK(program_to_json(read(text)) == text);
}

TEST_CASE("a program lowered from a shipped scenario survives the file") {
  for (const char* const name : {"toy.yaml", "flexshard.yaml"}) {
    const Scenario scenario = read_scenario(std::string(SHARDSIM_SOURCE_DIR "/scenarios/") + name, {});
    const Case& item = scenario.cases[2];  // three tiers
    const Cluster cluster(item.cluster);
    const auto memory = make_memory_model(item.memory_model);
    const Plan plan = make_planner(item.planner)->plan(item.workload, cluster, PlannerContext{*memory, 7, {}});
    Program program = lower(plan, item.workload, cluster, {});
    program.case_name = item.name;
    CAPTURE(item.name);
    CHECK(read(program_to_json(program)) == program);
  }
}

TEST_CASE("a program that is wrong is not written") {
  Program program = read(toy_text());
  program.ops[2].hbm_bytes.values = {0.0 / 0.0};
  CHECK_THROWS_AS(program_to_json(program), Error);
}

TEST_CASE("what is wrong in a program file is told with its line") {
  CHECK(says(error_of("{}"), "'schema' is missing"));
  CHECK(says(error_of("[]"), "map"));
  CHECK(says(error_of(spoiled("shardsim.program/2", "shardsim.program/3")), "p.json:2"));
  CHECK(says(error_of(spoiled("shardsim.program/2", "shardsim.program/1")), "Lower the scenario again"));
  CHECK(says(error_of(spoiled("\"role\": \"lookup\"", "\"role\": \"look_up\"")), "Did you mean"));
  CHECK(says(error_of(spoiled("\"role\": \"lookup\", ", "")), "role"));
  CHECK(says(error_of(spoiled("\"fusion\": \"rw\"", "\"fusion\": \"wr\"")), "unknown fusion \"wr\""));
  CHECK(says(error_of(spoiled("\"matrix\": \"rw_ids\"", "\"matrix\": \"rw_idz\"")), "unknown matrix \"rw_idz\""));
  CHECK(says(error_of(spoiled("\"fusion\": \"rw\"", "\"fusion\": \"rw\", \"batches_ahead\": 1000000000000")),
             "batches ahead"));
  CHECK(says(error_of(spoiled("\"seed\": 7,\n \"world", "\"sede\": 7,\n \"world")), "seed"));
  CHECK(says(error_of(spoiled("\"index_batches\"", "\"index_batch\"")), "index_batches"));
  CHECK(says(error_of(spoiled("\"world\": [\"0-7\"]", "\"world\": [\"0-8\"]")), "p.json:11"));
  CHECK(says(error_of(spoiled("\"world\": [\"0-7\"]", "\"world\": \"0-7\"")), "p.json:11"));
  CHECK(says(error_of(spoiled("\"world\": [\"0-7\"]", "\"value\": [\"0-7\"]")), "unknown group"));
  CHECK(says(error_of(spoiled("\"kind\": \"even\"", "\"kind\": \"odd\"")), "p.json:13"));
  CHECK(says(error_of(spoiled("\"kind\": \"even\"", "\"transpose_of\": \"x\", \"kind\": \"even\"")), "transpose_of"));
  CHECK(says(error_of(spoiled("\"shards\": [1]}", "\"shards\": [5]}")), "which does not exist"));
  CHECK(says(error_of(spoiled("\"dtype_bytes\": 4", "\"dtype_bytes\": 2")), "dtype_bytes"));
  CHECK(says(error_of(spoiled("\"rows\": [0, 64]", "\"rows\": [0]")), "[FIRST, END)"));
  CHECK(says(error_of(spoiled("\"strategy\": \"flex\"", "\"strategy\": \"flexible\"")), "flex"));
  CHECK(says(error_of(spoiled("\"id\": 3", "\"id\": 4")), "p.json:35"));
  CHECK(says(error_of(spoiled("\"after\": [1]", "\"after\": [2]")), "p.json:34"));
  CHECK(says(error_of(spoiled("\"class\": \"dense\"", "\"class\": \"sparse\"")), "sparse"));
  CHECK(says(error_of(spoiled("\"bytes\": 51200", "\"bytes\": -1")), "bytes"));
  CHECK(says(error_of(spoiled("\"lookups\": 160", "\"lookups\": [160, 160]")), "2 numbers for 8 ranks"));
  CHECK(says(error_of(spoiled("\"lookups\": 160", "\"lookups\": -160")), "negative"));
  CHECK(says(error_of(spoiled("\"lookups\": 160, ", "")), "lookups"));
  CHECK(says(error_of(spoiled("\"stream\": 1", "\"stream\": 99999999999")), "out of range"));
  CHECK(says(error_of(spoiled("\"tier\": 0", "\"tier\": 1000000000")), "impossible tier"));
}

TEST_CASE("a short file cannot stand for endless memory") {
  std::string text = spoiled("\"world_size\": 8", "\"world_size\": 1048576");
  std::string sets = "\"0-1048575\"";
  for (int i = 0; i < 20; ++i) sets += ", \"0-1048575\"";
  text.replace(text.find("\"0-7\"]"), 5, sets);
  CHECK(says(error_of(text), "hold more than"));
  CHECK(says(error_of(spoiled("\"world_size\": 8", "\"world_size\": 1048577")), "At most 1048576"));
}

TEST_CASE("sizes by rank set are one for each set, bags belong to pooled lookups") {
  const std::string reduce = "\"bytes\": 51200";
  CHECK(error_of(spoiled(reduce, "\"bytes\": [51200, 1, 2, 3]")).empty());
  CHECK(read(spoiled(reduce, "\"bytes\": [1, 51200, 2, 3]")).ops[14].bytes == 51200);
  CHECK(says(error_of(spoiled(reduce, "\"bytes\": [51200, 1, 2]")),
             "its 3 sizes are not one for each of the 4 rank sets"));
  CHECK(says(error_of(spoiled(reduce, "\"bytes\": []")), "has no bytes"));
  CHECK(says(error_of(spoiled(reduce, "\"bytes\": [1, -1, 2, 3]")), "-1"));
  CHECK(
      says(error_of(spoiled("\"pooled\": false", "\"pooled\": false, \"bags\": 3")), "it has bags and is not pooled"));
  const std::string law = "\"family\": \"piecewise_power_law\"";  // its sum is scaled to the one id of a pooled feature
  const std::string kind = with(with(toy_text(), "\"sequence\"", "\"pooled\"", true), law, law + ", \"rescale\": true");
  const std::string pooled = with(kind, "\"pooled\": false", "\"pooled\": true, \"bags\": 3", true);
  CHECK(error_of(pooled).empty());
  CHECK(says(error_of(with(pooled, "\"bags\": 3", "\"bags\": [3, 4]")), "2 numbers for 8 ranks"));
}

TEST_CASE("what is sorted, and in how many kernels, is a number of either") {
  const auto lookup = [](const std::string& more) {
    return spoiled("\"pooled\": false", "\"pooled\": false, " + more);
  };
  CHECK(error_of(lookup("\"indexed\": true, \"sort_bits\": 32, \"kernels\": 12")).empty());
  CHECK(says(error_of(lookup("\"sort_bits\": 65")), "it sorts by 65 bits"));
  CHECK(says(error_of(lookup("\"kernels\": -1")), "-1"));
  CHECK(says(error_of(lookup("\"kernels\": 99999999999")), "kernels"));
  CHECK(says(error_of(lookup("\"row_bytes\": [1, 2]")), "2 numbers for 8 ranks"));
  CHECK(says(error_of(lookup("\"distinct_growth\": -1")), "distinct_growth is negative"));
}

TEST_CASE("what each shard of a lookup does is whole, and not negative") {
  const auto by_shard = [](const std::string& figures, const std::string& missed = "0,0,0,0,0,0,0,0,0,0,0,0") {
    return spoiled("\"pooled\": false",
                   "\"pooled\": false, \"by_shard\": [{" + figures + ", \"missed\": [" + missed + "]}]");
  };
  const std::string good =
      "\"bags\": 1, \"lookups\": 2, \"of_lookups\": 2, \"distinct\": 1, \"long_lookups\": 0, \"long_rows\": 0, "
      "\"long_pieces\": 0, \"largest\": 1";
  CHECK(says(error_of(by_shard(good, "1, 2")), "'missed' has 2 numbers"));
  CHECK(says(error_of(by_shard(good + ", \"of\": 1")), "of"));
  std::string negative = good;
  negative.replace(negative.find("\"distinct\": 1"), 13, "\"distinct\": -1");
  CHECK_FALSE(error_of(by_shard(negative)).empty());
}

TEST_CASE("every strategy is written by its own name") {
  for (const std::string& name : strategy_names()) {
    Program program = read(toy_text());
    program.shards[0].strategy = parse_strategy(name, Place{"test"});
    CHECK(Json::parse(program_to_json(program)).at("shards").at(0).at("strategy") == name);
  }
}

}  // namespace shardsim::program_file_test
