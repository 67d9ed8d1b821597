#include <doctest/doctest.h>

#include "plan/torchrec/estimate/shard_estimate.h"
#include "plan/torchrec/spec/names.h"

// Hand-counted buffers of two tables on 2 nodes of 4 ranks, batch 32, fp32, 64 columns in blocks of 32: ids of 8 bytes
// in, vectors out. A has 3 ids a sample, B 2.
namespace shardsim::torchrec::batch_load_test {
namespace {

EstimateSettings batch_of_32(PlannerVersion version = kNewestVersion) {
  EstimateSettings settings;
  settings.version = version;
  settings.batch_size = 32;
  return settings;
}

BufferBytes buffers(double factor, bool pooled, ShardingType type) {
  TableSpec table;
  table.rows = 1000;
  table.dim = 64;
  table.pooled = pooled;
  table.pooling_factors = {factor};
  Topology topology;
  topology.world_size = 8;
  topology.local_world_size = 4;
  const std::int64_t columns = in_columns(type) ? 32 : 64;
  return buffer_bytes(table, batch_load(table, batch_of_32()), type, topology, 10, columns, 4);
}

void check(ShardingType type, BufferBytes a_pooled, BufferBytes b_pooled, std::int64_t a_sequence,
           std::int64_t b_sequence) {
  CAPTURE(std::string(name_of(type)));
  CHECK(buffers(3, true, type).input == a_pooled.input);
  CHECK(buffers(2, true, type).input == b_pooled.input);
  CHECK(buffers(3, true, type).output == a_pooled.output);
  CHECK(buffers(2, true, type).output == b_pooled.output);
  CHECK(buffers(3, false, type).output == a_sequence);
  CHECK(buffers(2, false, type).output == b_sequence);
}

}  // namespace

TEST_CASE("input and output buffers of every sharding type, pooled and sequence") {
  check(ShardingType::table_wise, {6144, 65536}, {4096, 65536}, 196608, 131072);
  check(ShardingType::column_wise, {6144, 32768}, {4096, 32768}, 98304, 65536);
  check(ShardingType::table_column_wise, {6144, 32768}, {4096, 32768}, 98304, 65536);
  check(ShardingType::row_wise, {768, 65536}, {512, 65536}, 24576, 16384);
  check(ShardingType::table_row_wise, {1536, 65536}, {1024, 65536}, 49152, 32768);
  check(ShardingType::grid_shard, {1536, 32768}, {1024, 32768}, 24576, 16384);
  check(ShardingType::data_parallel, {768, 8192}, {512, 8192}, 24576, 16384);
}

TEST_CASE("empty bags of pooled tables are left out by 2026-08, and by it alone") {
  TableSpec table;
  table.pooling_factors = {0.25, 3};
  table.num_poolings = {2, 1};
  CHECK(batch_load(table, batch_of_32()).bags == 0.25 * 2 * 32 + 32);
  CHECK(batch_load(table, batch_of_32(PlannerVersion::v2025_10)).bags == 2 * 32 + 32);
  CHECK(batch_load(table, batch_of_32()).inputs == batch_load(table, batch_of_32(PlannerVersion::v2025_10)).inputs);
  table.pooled = false;
  CHECK(batch_load(table, batch_of_32()).bags == 2 * 32 + 32);
}

TEST_CASE("lists of different lengths are an error that names the table") {
  TableSpec table;
  table.name = "t";
  table.pooling_factors = {1, 2};
  table.num_poolings = {1};
  CHECK_THROWS_AS(batch_load(table, batch_of_32()), PlannerError);
}

}  // namespace shardsim::torchrec::batch_load_test
