#include "program/timeline/kineto/kineto.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/files.h"
#include "tests/program/overlapping_timeline.h"
#include "tests/program/sample_timeline.h"

namespace shardsim::kineto_test {
namespace {

using Json = nlohmann::json;

std::vector<Json> events(const Json& trace, const std::string& category) {
  std::vector<Json> found;
  for (const Json& event : trace.at("traceEvents"))
    if (event.value("cat", "") == category && event.at("ph") == "X") found.push_back(event);
  return found;
}

Json kernel_named(const Json& trace, const std::string& name) {
  for (const Json& event : events(trace, "kernel"))
    if (event.at("name") == name) return event;
  return nullptr;
}

std::set<int> correlations(const std::vector<Json>& found) {
  std::set<int> numbers;
  for (const Json& event : found) numbers.insert(event.at("args").at("correlation").get<int>());
  return numbers;
}

// The pattern "rank":\s+(\d+) of hta/common/trace_file.py, in which the blank counts; "" when it is not there.
std::string rank_as_readers_find_it(const std::string& text) {
  const std::string key = "\"rank\":";
  std::size_t at = text.find(key);
  if (at == std::string::npos || std::isspace(text[at + key.size()]) == 0) return "";
  at = text.find_first_not_of(" \n", at + key.size());
  return text.substr(at, text.find_first_not_of("0123456789", at) - at);
}

std::int64_t nanoseconds(const Json& us) {
  return std::llround(us.get<double>() * 1e3);
}

// Slices of one (pid, tid) must lie inside or beside each other, never across.
bool nests(const Json& trace) {
  std::map<std::pair<int, int>, std::vector<std::pair<std::int64_t, std::int64_t>>> tracks;  // start, minus end
  for (const Json& event : trace.at("traceEvents")) {
    if (event.at("ph") != "X") continue;
    const std::int64_t start = nanoseconds(event.at("ts"));
    tracks[{event.at("pid").get<int>(), event.at("tid").get<int>()}].push_back(
        {start, -(start + nanoseconds(event.at("dur")))});
  }
  for (auto& [track, slices] : tracks) {
    std::sort(slices.begin(), slices.end());
    std::vector<std::int64_t> open;
    for (const auto& [start, minus_end] : slices) {
      while (!open.empty() && open.back() <= start) open.pop_back();
      if (!open.empty() && open.back() < -minus_end) return false;
      open.push_back(-minus_end);
    }
  }
  return true;
}

Json trace_of(const Timeline& timeline, int rank, bool whole_us = false) {
  return Json::parse(kineto_trace(timeline, rank, "rm1/row_wise", whole_us));
}

// Checks what Holistic Trace Analysis needs of a trace (docs/formats/traces_and_reports.md, Kineto: writer rules),
// without running it.
TEST_CASE("a trace has all that Holistic Trace Analysis needs") {
  for (bool whole_us : {false, true}) {
    const std::string text = kineto_trace(sample_timeline(), 1, "rm1/row_wise", whole_us);
    CHECK(rank_as_readers_find_it(text) == "1");
    const Json trace = Json::parse(text);
    CHECK(trace.at("distributedInfo").at("rank") == 1);
    CHECK(trace.at("distributedInfo").at("world_size") == 2);
    CHECK(trace.at("displayTimeUnit") == "ms");
    const auto steps = events(trace, "user_annotation"), launches = events(trace, "cuda_runtime"),
               kernels = events(trace, "kernel");
    CHECK(steps.size() == 2 + 1);
    CHECK(kernels.size() == 10);
    CHECK(launches.size() == kernels.size());
    CHECK(correlations(launches) == correlations(kernels));
    CHECK(correlations(kernels).size() == kernels.size());
    for (const Json& kernel : kernels) {
      CHECK(kernel.at("args").at("stream") == kernel.at("tid"));
      CHECK(kernel.at("args").at("device") == kernel.at("pid"));
    }
    CHECK(nests(trace));
  }
}

TEST_CASE("kernels carry their stream, times and collective arguments") {
  const Json trace = trace_of(sample_timeline(), 1);
  const Json exchange = kernel_named(trace, "ncclDevKernel_SendRecv");
  CHECK(exchange.at("ts") == 10.0);
  CHECK(exchange.at("args").at("Collective name") == "all_to_allv");
  const Json args = kernel_named(trace, "ncclDevKernel_AllReduce_Sum_f32_RING_LL").at("args");
  CHECK(args.at("Collective name") == "allreduce");
  CHECK(args.at("In msg nelems") == 512);  // 2,048 bytes of 4 each
  CHECK(args.at("Out msg nelems") == 512);
  CHECK(args.at("dtype") == "Float");
  CHECK(args.at("Group size") == 2);
  CHECK(args.at("Process Group Name") == "world");
  CHECK(args.at("Process Group Ranks") == "[0, 1]");
  const Json dense = kernel_named(trace, "dense");
  CHECK(dense.at("dur") == 50.0);
  CHECK_FALSE(dense.at("args").contains("Collective name"));
}

TEST_CASE("every kind of collective has the kernel name and argument that NCCL and PyTorch use") {
  Timeline timeline = sample_timeline();
  const auto check = [&](const char* op_class, const char* dtype, const char* algorithm, const char* kernel,
                         const char* collective, int in, int out) {
    timeline.ops[4] = {"sync", op_class, 0, "world", dtype, algorithm};
    const Json found = kernel_named(trace_of(timeline, 0), kernel);
    REQUIRE_MESSAGE(found.is_object(), kernel);
    CHECK(found.at("args").at("Collective name") == collective);
    CHECK(found.at("args").at("In msg nelems") == in);
    CHECK(found.at("args").at("Out msg nelems") == out);
  };
  check("all_reduce", "bf16", "tree", "ncclDevKernel_AllReduce_Sum_bf16_TREE_LL", "allreduce", 1024, 1024);
  check("reduce_scatter", "fp16", "ring", "ncclDevKernel_ReduceScatter_Sum_f16_RING_LL", "_reduce_scatter_base", 1024,
        512);
  check("all_gather", "int64", "ring", "ncclDevKernel_AllGather_RING_LL", "_allgather_base", 128, 256);
  check("broadcast", "", "", "ncclDevKernel_Broadcast_RING_LL", "broadcast", 2048, 2048);
}

// docs/formats/traces_and_reports.md: the worked event of 65,536 floats is 262,144 bytes.
TEST_CASE("elements are counted, not bytes") {
  Timeline timeline = sample_timeline();
  for (Span& span : timeline.spans) span.bytes = 262144;
  const Json exchange = kernel_named(trace_of(timeline, 0), "ncclDevKernel_SendRecv");
  CHECK(exchange.at("args").at("In msg nelems") == 65536);
}

TEST_CASE("steps hold the launches of their iteration, also when iterations overlap") {
  Timeline timeline = sample_timeline();
  for (Span& span : timeline.spans)
    if (span.iteration == 1 && span.op == 0) span.start_us -= 30.25, span.end_us -= 30.25;  // 69.75: within `sync`
  sort_spans(timeline);
  const Json trace = trace_of(timeline, 0);
  std::map<int, int> iteration_of;  // by correlation: spans by start, from 1
  int number = 0;
  for (const Span& span : timeline.spans)
    if (span.rank == 0) iteration_of[++number] = span.iteration;
  for (const Json& step : events(trace, "user_annotation")) {
    const double begin = step.at("ts"), end = begin + step.at("dur").get<double>();
    for (const Json& launch : events(trace, "cuda_runtime")) {
      const bool inside = launch.at("ts") >= begin && launch.at("ts") < end;
      const int iteration = iteration_of.at(launch.at("args").at("correlation").get<int>());
      CHECK(inside == (step.at("name") == "ProfilerStep#" + std::to_string(iteration)));
    }
  }
}

TEST_CASE("times are fractions of three digits, or whole microseconds on demand") {
  Timeline timeline = sample_timeline();
  for (Span& span : timeline.spans) span.start_us += 0.1234567, span.end_us += 0.4567891;
  const Json fine = kernel_named(trace_of(timeline, 0), "dense");
  CHECK(fine.at("ts").get<double>() == doctest::Approx(40.123).epsilon(1e-12));
  CHECK(fine.at("dur").get<double>() == doctest::Approx(50.334).epsilon(1e-12));
  const Json whole = kernel_named(trace_of(timeline, 0, true), "dense");
  CHECK(whole.at("ts") == 40.0);
  CHECK(whole.at("dur") == 50.0);
}

TEST_CASE("rounding keeps slices of a stream apart") {
  Timeline timeline = sample_timeline();
  timeline.spans.clear();
  double now = 0;
  for (int i = 0; i < 1000; ++i) {
    const double end = now + 0.7 + 1.0 / (3.0 + i);
    timeline.spans.push_back({now, end, 0, 0, 0, 0, 0});
    now = end;
  }
  CHECK(nests(trace_of(timeline, 0)));
  CHECK(nests(trace_of(timeline, 0, true)));
}

TEST_CASE("streams are named, names with quotes survive, long rank lists are cut as Kineto cuts them") {
  Timeline timeline = sample_timeline();
  timeline.world_size = 40;
  timeline.ranks_per_node = 8;
  timeline.streams[0] = "a \"b\"\n";
  timeline.groups["world"][0].clear();
  for (int rank = 0; rank < 40; ++rank) timeline.groups["world"][0].push_back(rank);
  const Json trace = trace_of(timeline, 1);
  std::vector<std::string> names;
  for (const Json& event : trace.at("traceEvents"))
    if (event.at("ph") == "M" && event.at("name") == "thread_name" && event.at("pid") == 1)
      names.push_back(event.at("args").at("name"));
  CHECK(names == std::vector<std::string>{"stream 0 a \"b\"\n", "stream 1 world", "stream 2 node"});
  const Json args = kernel_named(trace, "ncclDevKernel_AllReduce_Sum_f32_RING_LL").at("args");
  const std::string list = args.at("Process Group Ranks");
  CHECK(list.starts_with("[0, 1, 2, "));
  CHECK(list.ends_with(", 29, ...]"));
  CHECK(args.at("Group size") == 40);
}

TEST_CASE("a rank without spans still gives a trace") {
  Timeline timeline = sample_timeline();
  timeline.spans.clear();
  const Json trace = trace_of(timeline, 0);
  CHECK(events(trace, "user_annotation").size() == 1);
  CHECK(events(trace, "kernel").empty());
}

TEST_CASE("the kernel of a reduction is called by the algorithm and the protocol that were chosen") {
  Timeline timeline = sample_timeline();
  const auto check = [&](const char* algorithm, const char* protocol, const std::string& ending) {
    timeline.ops[4].algorithm = algorithm;
    timeline.ops[4].protocol = protocol;
    CHECK(kernel_named(trace_of(timeline, 0), "ncclDevKernel_AllReduce_Sum_f32_" + ending).is_object());
  };
  check("Ring", "Simple", "RING_SIMPLE");
  check("Tree", "LL128", "TREE_LL128");
  check("NVLS", "Simple", "NVLS_SIMPLE");
  check("NVLSTree", "Simple", "NVLS_TREE_SIMPLE");
  check("CollnetDirect", "Simple", "COLLNET_DIRECT_SIMPLE");
  check("two_level", "", "TWO_LEVEL_LL");
}

TEST_CASE("with iterations that overlap, the trace is one period from 0 on, and neighbours say so") {
  const Timeline timeline = overlapping_timeline();
  for (const bool whole_us : {false, true}) {
    const Json trace = trace_of(timeline, 1, whole_us);
    CHECK(nests(trace));
    const auto steps = events(trace, "user_annotation"), kernels = events(trace, "kernel");
    REQUIRE(steps.size() == 1 + 1);
    CHECK(steps[0].at("ts") == 0);
    CHECK(steps[0].at("dur") == 100);
    CHECK(steps[0].at("args").at("iteration ms") == 0.1);
    REQUIRE(kernels.size() == 4);
    CHECK(events(trace, "cuda_runtime").size() == 4);
    double first = 1e9, last = 0;
    int ahead = 0, rests = 0;
    for (const Json& kernel : kernels) {
      first = std::min(first, kernel.at("ts").get<double>());
      last = std::max(last, kernel.at("ts").get<double>() + kernel.at("dur").get<double>());
      ahead += kernel.at("args").value("iterations ahead", 0);
      rests += kernel.at("args").value("continued", 0);
    }
    CHECK(first == 0);
    CHECK(last == 100);
    CHECK(ahead == 1);
    CHECK(rests == 1);
  }
}

TEST_CASE("one file per rank") {
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / ("shardsim_kineto_test_" + std::to_string(getpid()));
  write_kineto_traces(folder / "trace" / "rm1/row_wise", sample_timeline(), "rm1/row_wise", false);
  for (int rank : {0, 1}) {
    const fs::path file = folder / "trace/rm1/row_wise" / ("rank" + std::to_string(rank) + ".json");
    CHECK(read_file(file.string()) == kineto_trace(sample_timeline(), rank, "rm1/row_wise", false));
  }
  fs::remove_all(folder);
}

}  // namespace
}  // namespace shardsim::kineto_test
