#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "tests/accuracy/measurements/measurement_text.h"

namespace shardsim::read_measurement_csv_test {

namespace {

const std::string kOpenSet = SHARDSIM_SOURCE_DIR "/scenarios/measurements/open";

std::string row_fault(const std::string& row) {
  return measurement_fault(kMeasurementHeader + row);
}

}  // namespace

TEST_CASE("a row is read by the names of its columns") {
  const Measurements found = measured("\"DGX, two\",run 1,2,8,alltoall,1048576,2,250.5\n");
  REQUIRE(found.rows.size() == 1);
  const MeasuredRow& row = found.rows[0];
  CHECK(row.place == Place{"m.csv", 2});
  CHECK(row.system == "DGX, two");
  CHECK(row.setting == "run 1");
  CHECK(row.nodes == 2);
  CHECK(row.gpus_per_node == 8);
  CHECK(row.groups_at_once == 1);
  CHECK(row.kind == CollectiveKind::all_to_all);
  CHECK(row.bytes == 1048576);
  CHECK(row.calls == 2);
  CHECK(row.time->us() == doctest::Approx(250.5));
  CHECK(found.notes.empty());
}

TEST_CASE("statements may lack a size or a time, other rows may not") {
  const std::string text = "system,nodes,gpus_per_node,collective,size_bytes,time_us,record_kind\n";
  CHECK_FALSE(read_measurement_csv(text + "s,1,8,all_reduce,,,statement\n", "m.csv").rows[0].is_complete());
  CHECK(has(measurement_fault(text + "s,1,8,all_reduce,,5,log_row\n"), "m.csv:2: column size_bytes is empty"));
  CHECK(has(measurement_fault(text + "s,1,8,all_reduce,5,,log_row\n"), "m.csv:2: column time_us is empty"));
}

TEST_CASE("an unknown column is noted once and left out") {
  const Measurements found = read_measurement_csv(
      "system,nodes,gpus_per_node,collective,size_bytes,time_us,weather\ns,1,8,all_reduce,8,9,rain\n", "m.csv");
  REQUIRE(found.notes.size() == 1);
  CHECK(has(found.notes[0], "\"weather\""));
}

TEST_CASE("a missing column is named, and a name without its unit is understood") {
  CHECK(has(measurement_fault("system,nodes\n"), "m.csv:1: column gpus_per_node is missing"));
  const std::string fault =
      measurement_fault("system,nodes,gpus_per_node,collective,size_bytes,time\ns,1,8,all_reduce,8,9\n");
  CHECK(has(fault, "m.csv:1: column time_us is missing"));
  CHECK(has(fault, "Name \"time\" as time_us: units are part of the name"));
  CHECK(has(measurement_fault(""), "m.csv:1: the file is empty"));
}

TEST_CASE("a cell that cannot be is refused with its line and column") {
  CHECK(has(row_fault("s,,1,8,all_reduce,8,1,fast\n"), "m.csv:2: column time_us: \"fast\""));
  CHECK(has(row_fault("s,,1,8,all_reduce,8,1,9 us\n"), "column time_us: \"9 us\" is not a plain number"));
  CHECK(has(row_fault("s,,1,8,all_reduce,8,1,nan\n"), "column time_us: \"nan\""));
  CHECK(has(row_fault("s,,1,8,all_reduce,8,1,1e400\n"), "column time_us"));
  CHECK(has(row_fault("s,,1,8,all_reduce,8,1,0\n"), "column time_us is not above 0"));
  CHECK(has(row_fault("s,,1,8,all_reduce,8,1,-4\n"), "column time_us is negative"));
  CHECK(has(row_fault("s,,1,8,all_reduce,0,1,9\n"), "column size_bytes is 0"));
  CHECK(has(row_fault("s,,1,8,all_reduce,9223372036854775809,1,9\n"), "column size_bytes: "));
  CHECK(has(row_fault("s,,1,8,all_reduce,9223372036854775809,1,9\n"), "is too large"));
  CHECK(has(row_fault("s,,1,8,all_reduce,8 KiB,1,9\n"), "column size_bytes: \"8 KiB\""));
  CHECK(has(row_fault("s,,0,8,all_reduce,8,1,9\n"), "column nodes is 0"));
  CHECK(has(row_fault("s,,9999999999,8,all_reduce,8,1,9\n"), "column nodes is too large"));
  CHECK(has(row_fault("s,,1,8,all_reduce,8,0,9\n"), "column calls is 0"));
  CHECK(has(row_fault(",,1,8,all_reduce,8,1,9\n"), "column system is empty"));
  CHECK(has(row_fault("s,,1,8,all_rduce,8,1,9\n"), "m.csv:2: unknown collective \"all_rduce\". Did you mean"));
  CHECK(has(row_fault("s,,1,8,alltoallv,8,1,9\n"), "unknown collective \"alltoallv\""));
}

TEST_CASE("ranks must be nodes times GPUs") {
  const std::string text = "system,nodes,gpus_per_node,ranks_per_group,collective,size_bytes,time_us\n";
  CHECK(read_measurement_csv(text + "s,2,8,16,all_reduce,8,9\n", "m.csv").rows.size() == 1);
  CHECK(has(measurement_fault(text + "s,2,8,8,all_reduce,8,9\n"), "2 nodes with 8 GPUs each are 16 ranks"));
}

// 1 MiB in 50 us are 20.97 GB/s.
TEST_CASE("rows whose bandwidth contradicts their time are counted, the first with its line") {
  const std::string text = "system,nodes,gpus_per_node,collective,size_bytes,time_us,calls,algbw_GB_per_s\n";
  const auto notes = [&](const std::string& rows) { return read_measurement_csv(text + rows, "m.csv").notes; };
  CHECK(notes("s,2,8,all_reduce,1048576,50,1,20.97\ns,2,8,all_reduce,1048576,50,1,21.9\n").empty());
  CHECK(notes("s,2,8,all_reduce,1048576,100,2,20.97\ns,2,8,all_reduce,8,50,,0.00\n").empty());
  const auto found =
      notes("s,2,8,all_reduce,8,5,,\ns,2,8,all_reduce,1048576,50,1,500\ns,2,8,all_reduce,1048576,50,1,19\n");
  REQUIRE(found.size() == 1);
  CHECK(has(found[0], "m.csv:3: algbw_GB_per_s is more than 5 % off what size and time give, as in 2 rows in all"));
}

// The copies of the published tables agree with themselves: bandwidth is bytes over time.
TEST_CASE("every shipped row above 1 GB/s has the bandwidth that its size and time give, within 1 %") {
  const Measurements found = read_measurements(kOpenSet, {});
  CHECK(found.rows.size() == 2318);
  CHECK(found.notes.empty());
  int checked = 0;
  for (const MeasuredRow& row : found.rows) {
    CHECK_FALSE_MESSAGE(row.source.empty(), row.place.text());
    if (!row.is_complete() || !row.algbw || *row.algbw <= 1) continue;
    const double algbw = static_cast<double>(row.calls * *row.bytes) / row.time->value / 1e9;
    CHECK_MESSAGE(std::abs(algbw / *row.algbw - 1) <= 0.01, row.place.text());
    ++checked;
  }
  CHECK(checked > 1000);
}

}  // namespace shardsim::read_measurement_csv_test
