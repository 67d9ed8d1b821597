#include "program/timeline/timeline_json.h"

#include <doctest/doctest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/tree/json.h"
#include "tests/base/error_text.h"
#include "tests/program/sample_timeline.h"
#include "tests/without_columns.h"

namespace shardsim::timeline_json_test {
namespace {

// The example of the format's specification: no streams, no iteration time, no driver's version.
constexpr const char* kExample = R"({"schema": "shardsim.timeline_json/1", "case": "main", "kind": "observed",
 "complete": true, "world_size": 2,
 "ops": [{"name": "a2a", "class": "all_to_all"}],
 "rank": {"hbm_bytes": [100, 100]},
 "spans": {"start_us": [0.0, 0.5],
  "end_us": [4.0, 4.0],
  "rank": [0, 1], "stream": [1, 1], "op": [0, 0], "iteration": [0, 0], "bytes": [64, 64]},
 "measured": {"hosts": ["n0"], "device": "A100", "driver": "", "nccl": "2.18.3", "clock_residual_us": 0.0}}
)";

std::string message_of(const std::string& text) {
  return input_error_of([&] { timeline_from_tree(parse_json(text, "t.json")); });
}

// The example with one piece of its text replaced.
std::string spoiled(const std::string& piece, const std::string& by) {
  std::string text = kExample;
  const std::size_t at = text.find(piece);
  REQUIRE(at != std::string::npos);
  return text.replace(at, piece.size(), by);
}

void refuses(const std::string& piece, const std::string& by, const std::string& expected) {
  const std::string message = testing::without_columns(message_of(spoiled(piece, by)));
  CHECK_MESSAGE(message.find(expected) != std::string::npos, message);
}

TEST_CASE("timelines read back from JSON equal those written, predicted, observed, bare and incomplete") {
  Timeline bare;
  bare.complete = false;
  bare.kind = "observed";
  for (const Timeline& timeline : {sample_timeline(), sample_observation(), bare}) {
    const NamedTimeline back = timeline_from_tree(parse_json(timeline_to_json(timeline, "rm1/row_wise"), "t.json"));
    CHECK(back.case_name == "rm1/row_wise");
    CHECK(back.timeline == timeline);
  }
}

TEST_CASE("times keep every bit") {
  Timeline timeline = sample_timeline();
  timeline.spans[0].start_us = 0.1 + 0.2;
  timeline.spans[0].end_us = 123456.78901234567;
  timeline.iteration_ms = 1.0 / 3;
  sort_spans(timeline);
  CHECK(timeline_from_tree(parse_json(timeline_to_json(timeline, "main"), "t.json")).timeline == timeline);
}

TEST_CASE("what is written is one JSON document with a column a line") {
  const std::string text = timeline_to_json(sample_observation(), "main");
  const auto json = nlohmann::json::parse(text);
  CHECK(json.at("schema") == "shardsim.timeline_json/1");
  CHECK(json.at("spans").at("start_us").size() == 20);
  CHECK(json.at("measured").at("hosts").at(1) == "node-b");
  CHECK(text.find("\n  \"end_us\": [") != std::string::npos);
}

TEST_CASE("the example of the specification is read") {
  const NamedTimeline read = timeline_from_tree(parse_json(kExample, "t.json"));
  CHECK(read.case_name == "main");
  CHECK(read.timeline.spans.size() == 2);
  CHECK(read.timeline.spans[1] == Span{0.5, 4.0, 1, 1, 0, 0, 64});
  CHECK(read.timeline.streams == std::vector<std::string>{"stream 0", "stream 1"});
  CHECK(read.timeline.measured.device == "A100");
  CHECK(read.timeline.hbm_bytes == std::vector<std::int64_t>{100, 100});
}

TEST_CASE("spans are sorted on reading") {
  const NamedTimeline read = timeline_from_tree(parse_json(spoiled("[0.0, 0.5]", "[0.5, 0.0]"), "t.json"));
  CHECK(read.timeline.spans[0].rank == 1);
}

TEST_CASE("what cannot be is refused with file, line and what is wrong") {
  refuses("[0.0, 0.5]", "[0.0]", "t.json:6: column spans.end_us has 2 values, and start_us has 1");
  refuses("[0.0, 0.5]", "[]", "column spans.end_us has 2 values, and start_us has 0");
  refuses("\"bytes\": [64, 64]", "\"bytes\": [64, 64, 64]", "column spans.bytes has 3 values");
  refuses("[4.0, 4.0]", "[4.0, 0.25]", "t.json:6: span 1 ends at 0.25 us, before its start at 0.5 us");
  refuses("\"rank\": [0, 1]", "\"rank\": [0, 2]", "t.json:7: span 1 is on rank 2, outside the world of 2 ranks");
  refuses("\"rank\": [0, 1]", "\"rank\": [0, -1]", "t.json:7:");
  refuses("\"op\": [0, 0]", "\"op\": [0, 1]", "t.json:7: span 1 names op 1, outside the table of 1 ops");
  refuses("\"bytes\": [64, 64]", "\"bytes\": [64, -64]", "-64");
  refuses("[100, 100]", "[100]", "t.json:4: column rank/hbm_bytes has 1 values for 2 ranks");
  refuses("\"case\"", "\"caes\"", "case");
  refuses("\"nccl\"", "\"ncl\"", "unknown key \"ncl\" in 'measured'");
  refuses("\"kind\": \"observed\"", "\"kind\": \"dreamt\"", "dreamt");
  refuses("\"all_to_all\"", "\"all_to_some\"", "all_to_some");
  refuses("timeline_json/1", "timeline_json/2", "timeline_json/2");
  refuses("\"complete\": true,", "", "complete");
  refuses("0.5]", "\"0.5\"]", "is the text \"0.5\"");
  refuses("0.5]", "1e999]", "t.json:5");
  refuses("[0.0, 0.5]", "[0.0, null]", "t.json:5");
  refuses("\"hosts\": [\"n0\"]", "\"hosts\": [\"n0,n1\"]", "\"n0,n1\" is no host name");
}

TEST_CASE("a name that no case can have is refused at its line") {
  refuses("\"main\"", "\"..\"", "t.json:1: the case name \"..\" has the part '..'. Write at most 16 parts");
  refuses("\"main\"", "\"\"", "t.json:1: the case name \"\" is empty");
  refuses("\"main\"", "\"" + std::string(500, '/') + "\"", "has over");
}

TEST_CASE("a stream outside the table of names is refused") {
  refuses("\"ops\":", "\"streams\": [\"only\"], \"ops\":", "names stream 1, outside the table of 1 streams");
}

TEST_CASE("a file cut off anywhere is refused") {
  const std::string text = timeline_to_json(sample_observation(), "main");
  for (std::size_t length = 0; length + 2 < text.size(); length += 7)
    CHECK_MESSAGE(!message_of(text.substr(0, length)).empty(), length);
}

TEST_CASE("a timeline that no reader would take is not written") {
  Timeline timeline = sample_timeline();
  timeline.spans[0].end_us = -1;
  CHECK_THROWS_AS(timeline_to_json(timeline, "main"), std::logic_error);
  timeline = sample_timeline();
  timeline.iteration_ms = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_AS(timeline_to_json(timeline, "main"), std::logic_error);
}

}  // namespace
}  // namespace shardsim::timeline_json_test
