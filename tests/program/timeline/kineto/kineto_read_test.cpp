#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "base/error.h"
#include "base/files.h"
#include "program/timeline/kineto/kineto.h"
#include "program/timeline/kineto/kineto_names.h"
#include "program/timeline/named_times.h"
#include "tests/base/error_text.h"
#include "tests/program/overlapping_timeline.h"
#include "tests/program/sample_timeline.h"
#include "tests/temporary_folder.h"

namespace shardsim::kineto_read_test {
namespace {

namespace fs = std::filesystem;

const fs::path kFixtures = fs::path(SHARDSIM_SOURCE_DIR) / "tests" / "program" / "data" / "kineto";

KinetoTrace trace_of(const std::string& text, const std::string& path = "rank0.json") {
  std::istringstream in(text);
  return read_kineto_trace(in, path);
}

std::string message_of(const std::vector<std::pair<std::string, std::string>>& files) {
  return input_error_of([&] {
    std::vector<KinetoTrace> traces;
    for (const auto& [path, text] : files) traces.push_back(trace_of(text, path));
    timeline_from_traces(traces, "traces");
  });
}

const Timeline::OpInfo& op_named(const Timeline& timeline, const std::string& name) {
  const auto found =
      std::find_if(timeline.ops.begin(), timeline.ops.end(), [&](const auto& op) { return op.name == name; });
  REQUIRE(found != timeline.ops.end());
  return *found;
}

std::vector<Span> spans_of(const Timeline& timeline, const std::string& op, int rank) {
  std::vector<Span> found;
  for (const Span& span : timeline.spans)
    if (timeline.ops[static_cast<std::size_t>(span.op)].name == op && span.rank == rank) found.push_back(span);
  return found;
}

// A step of 100 us with a kernel of 10 us, as this program and PyTorch write them.
std::string one_step(const std::string& start, const std::string& arguments = "") {
  return R"({"traceEvents": [{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#0", "ts": 0, "dur": 100, )"
         R"("args": {)" +
         arguments + R"(}}, {"ph": "X", "cat": "kernel", "name": "k", "ts": )" + start +
         R"(, "dur": 10, "args": {"stream": 7}}]})";
}

TEST_CASE("a kernel or a step at an impossible time is refused, not read as one of no length") {
  CHECK(message_of({{"rank0.json", one_step("5")}}).empty());
  CHECK(says(message_of({{"rank0.json", one_step("1e300")}}), "rank0.json: \"k\" has an impossible time: 1e+300 us"));
  for (const char* const ms : {"1e-300", "-1", "0", "1e300", "\"long\""}) {
    CHECK(says(message_of({{"rank0.json", one_step("5", std::string("\"iteration ms\": ") + ms)}}),
               "rank0.json: \"ProfilerStep#0\" has an impossible iteration ms"));
  }
}

TEST_CASE("ranks that state different iterations are noted, and the longest is taken") {
  const ObservedTraces read = timeline_from_traces({trace_of(one_step("5", "\"iteration ms\": 0.25")),
                                                    trace_of(one_step("5", "\"iteration ms\": 0.125"), "rank1.json")},
                                                   "traces");
  CHECK(read.timeline.iteration_ms == 0.25);
  CHECK(std::ranges::any_of(read.notes, [](const std::string& note) {
    return says(note, "the traces state iterations of 0.125 to 0.25 ms; the longest is taken");
  }));
}

TEST_CASE("what our writer writes reads back to the same spans, within its rounding") {
  const TemporaryFolder folder("kineto_read");
  const Timeline written = sample_timeline();
  write_kineto_traces(folder.path(), written, "main", false);
  const ObservedTraces read = read_kineto_traces(folder.path());
  CHECK(read.notes.empty());
  CHECK(read.timeline.kind == "observed");
  CHECK(read.timeline.world_size == 2);
  CHECK(read.timeline.streams == written.streams);
  CHECK(read.timeline.groups == written.groups);
  REQUIRE(read.timeline.spans.size() == written.spans.size());
  for (std::size_t i = 0; i < written.spans.size(); ++i) {
    const Span &ours = written.spans[i], &back = read.timeline.spans[i];
    CAPTURE(i);
    CHECK(std::abs(back.start_us - ours.start_us) <= 0.0011);
    CHECK(std::abs(back.end_us - ours.end_us) <= 0.0011);
    CHECK(std::tie(back.rank, back.stream, back.iteration, back.bytes) ==
          std::tie(ours.rank, ours.stream, ours.iteration, ours.bytes));
    const Timeline::OpInfo& op = read.timeline.ops[static_cast<std::size_t>(back.op)];
    const Timeline::OpInfo& our_op = written.ops[static_cast<std::size_t>(ours.op)];
    CHECK(std::tie(op.name, op.op_class, op.group, op.dtype) ==
          std::tie(our_op.name, our_op.op_class, our_op.group, our_op.dtype));
  }
}

TEST_CASE("the window of an iteration that overlaps its neighbours reads back to the iteration that was written") {
  for (const Timeline& written : {overlapping_timeline(), slow_rank_timeline()}) {
    for (const bool whole_us : {false, true}) {
      std::vector<KinetoTrace> traces;
      for (const int rank : {0, 1}) traces.push_back(trace_of(kineto_trace(written, rank, "main", whole_us)));
      const Timeline read = timeline_from_traces(traces, "t").timeline;
      CHECK(read.iteration_ms == written.iteration_ms);
      REQUIRE(read.spans.size() == written.spans.size());
      const double tolerance = whole_us ? 2 : 0.002;
      for (std::size_t i = 0; i < written.spans.size(); ++i) {
        CHECK(std::abs(read.spans[i].start_us - written.spans[i].start_us) <= tolerance);
        CHECK(std::abs(read.spans[i].end_us - written.spans[i].end_us) <= tolerance);
      }
      CHECK(iteration_windows(read).front().repeats);
      CHECK(rank_times(read)[0].exposed_ms == doctest::Approx(rank_times(written)[0].exposed_ms).epsilon(0.05));
      CHECK(named_times(read)[0].waited_for.operation == named_times(written)[0].waited_for.operation);
    }
  }
}

TEST_CASE("the members of a set whose list was cut are the ranks that name it, when all do") {
  Timeline written = sample_timeline();
  written.world_size = 40;
  written.hbm_bytes.clear(), written.bytes_out.clear(), written.bytes_in.clear(), written.flow.clear();
  written.groups = {{"world", {{}}}};
  written.spans.clear();
  for (int rank = 0; rank < 40; ++rank) {
    written.groups["world"][0].push_back(rank);
    written.spans.push_back({0, 10, rank, 1, 1, 0, 64});
  }
  std::vector<KinetoTrace> traces;
  for (int rank = 0; rank < 40; ++rank) traces.push_back(trace_of(kineto_trace(written, rank, "main", false)));
  CHECK(timeline_from_traces(traces, "t").timeline.groups == written.groups);
  traces.pop_back();
  CHECK(timeline_from_traces(traces, "t").timeline.groups.empty());
}

TEST_CASE("traces of PyTorch with new and with old kernel names read alike") {
  for (const bool is_new : {true, false}) {
    CAPTURE(is_new);
    const ObservedTraces read = read_kineto_traces(kFixtures / (is_new ? "nccl_2_20" : "nccl_2_14"));
    const Timeline& timeline = read.timeline;
    CHECK(timeline.world_size == 2);
    CHECK(timeline.iterations_run == 2);
    CHECK(timeline.ranks_per_node == 2);
    CHECK(timeline.streams == std::vector<std::string>{"stream 7", "stream 20"});
    CHECK(timeline.measured.device == "NVIDIA A100-SXM4-40GB");
    CHECK(timeline.measured.nccl == (is_new ? "2.20.5" : "2.14.3"));
    CHECK(op_named(timeline, "lookup").op_class == "lookup");
    CHECK(op_named(timeline, "update").op_class == "update");
    CHECK(op_named(timeline, "dense").op_class == "dense");
    CHECK(op_named(timeline, "all_to_allv").op_class == "all_to_all");
    CHECK(op_named(timeline, "allreduce").op_class == "all_reduce");
    CHECK(op_named(timeline, "allreduce").dtype == "fp32");
    CHECK(timeline.groups.at("0") == std::vector<std::vector<int>>{{0, 1}});
    // By hand, from the fixture's README; the first span, a copy to the GPU, starts 300 us into step 4.
    const std::vector<Span> exchanges = spans_of(timeline, "all_to_allv", 1);
    REQUIRE(exchanges.size() == 2);
    CHECK(exchanges[0].bytes == 262144);
    CHECK(exchanges[0].end_us - exchanges[0].start_us == doctest::Approx(200));
    CHECK(exchanges[0].start_us == doctest::Approx(is_new ? 120.5 : 120));
    CHECK(exchanges[0].iteration == 4);
    const std::vector<Span> reductions = spans_of(timeline, "allreduce", 1);
    REQUIRE(reductions.size() == 2);
    CHECK(reductions[0].iteration == 4);  // by its launch; it ran in the time of step 5
    CHECK(reductions[0].bytes == 1000000);
    CHECK(reductions[1].end_us == doctest::Approx(1000 + 1190 - 300));
    CHECK(spans_of(timeline, "dense", 0).size() == 4);
    REQUIRE(read.notes.size() == 1);
    CHECK(says(read.notes[0], "2 GPU kernels were launched outside"));
  }
}

TEST_CASE("kernels by their names") {
  CHECK(is_communication_kernel("ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)"));
  CHECK(is_communication_kernel("ncclDevKernel_SendRecv"));
  CHECK(is_communication_kernel("void ncclKernel<1>(ncclDevComm*)"));
  CHECK_FALSE(is_communication_kernel("ampere_sgemm_128x64_tn"));
  CHECK_FALSE(is_communication_kernel("void kernel<ncclThing>(int)"));
  CHECK(collective_class("ncclKernel_ReduceScatter_RING_LL_Sum_float") == "reduce_scatter");
  CHECK(collective_class("ncclDevKernel_AllGather_RING_LL") == "all_gather");
  CHECK(collective_class("ncclKernel_Broadcast_RING_LL_Sum_int8_t") == "broadcast");
  CHECK(collective_class("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)") == "all_to_all");
  CHECK(collective_class("_allgather_base") == "all_gather");
  CHECK(collective_class("_reduce_scatter_base") == "reduce_scatter");
  CHECK(collective_class("all_to_all") == "all_to_all");
  CHECK(collective_class("alltoall_base") == "all_to_all");
  CHECK(collective_class("allreduce_coalesced") == "all_reduce");
  CHECK(collective_class("send") == "send_recv");
  CHECK(collective_class("ncclDevKernel_Generic(ncclDevComm*)").empty());
  CHECK(compute_class("void split_embedding_nobag_codegen_forward_unweighted_small_kernel<long>(int)") == "lookup");
  CHECK(compute_class("split_embedding_backward_codegen_adam_unweighted_kernel_cta_per_row_1") == "update");
  CHECK(compute_class("void EmbeddingBag_updateOutputKernel_sum_mean<float, long>(long)") == "lookup");
  CHECK(compute_class(
            "void at::native::(anonymous namespace)::EmbeddingBag_updateOutputKernel_sum_mean<float, long>(long)") ==
        "lookup");
  CHECK(compute_class("void EmbeddingBag_accGradParametersKernel<float>()") == "update");
  CHECK(compute_class("void cub::DeviceRadixSortOnesweepKernel<embedding_forward>()") == "dense");
}

TEST_CASE("a trace without steps is one iteration; without launches a kernel counts where it ran") {
  const KinetoTrace bare = trace_of(R"({"traceEvents": [
    {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 100, "dur": 5},
    {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": "110", "dur": "5"},
    {"ph": "X", "cat": "kernel", "name": "lost", "pid": 0, "tid": 7, "ts": 120},
    {"ph": "X", "cat": "kernel", "name": "odd", "pid": 0, "tid": 7, "ts": 120, "dur": -3}]})");
  const ObservedTraces read = timeline_from_traces({bare}, "t");
  CHECK(read.timeline.world_size == 1);
  REQUIRE(read.timeline.spans.size() == 2);
  CHECK(read.timeline.spans[1].start_us == 10);
  CHECK(read.notes.at(0) == "2 GPU kernels without a start or a duration are left out");
  const KinetoTrace list = trace_of(R"([{"ph": "X", "cat": "kernel", "name": "a", "ts": 1, "dur": 1, "tid": 1},
    {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#3", "ts": 0, "dur": 10}])");
  CHECK(timeline_from_traces({list}, "t").timeline.spans.at(0).iteration == 3);
}

std::string one_step(int rank, double at, const std::string& more = "") {
  std::ostringstream text;
  text << R"({"distributedInfo": {"rank": )" << rank << R"(, "world_size": 2}, "traceEvents": [)"
       << R"({"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "ts": )" << at << R"(, "dur": 100},)"
       << R"({"ph": "X", "cat": "kernel", "name": "gemm", "ts": )" << at + 1 << R"(, "dur": 40, "tid": 7},)"
       << R"({"ph": "X", "cat": "kernel", "name": "ncclDevKernel_Generic", "ts": )" << at + 50
       << R"(, "dur": 20, "tid": 8, "args": {"Process Group Name": "0", "Process Group Ranks": "[0, 1, 2, ...]"}})"
       << more << "]}";
  return text.str();
}

TEST_CASE("clocks further apart than an iteration are laid on each other, with a note") {
  const ObservedTraces read = timeline_from_traces({trace_of(one_step(0, 1000)), trace_of(one_step(1, 900000))}, "t");
  CHECK(spans_of(read.timeline, "dense", 0)[0].start_us == doctest::Approx(0));
  CHECK(spans_of(read.timeline, "dense", 1)[0].start_us == doctest::Approx(0));
  REQUIRE(read.notes.size() == 2);
  CHECK(says(read.notes[0], "clocks of the ranks differ by up to 899 ms"));
  CHECK(says(read.notes[1], "is counted as send_recv: ncclDevKernel_Generic"));
  CHECK(read.timeline.groups.empty());
}

TEST_CASE("events in two halves, begin and end, are those that are whole") {
  const auto trace = [](const char* kernels) {
    return trace_of(std::string(R"({"distributedInfo": {"rank": 0, "world_size": 1}, "traceEvents": [
      {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "ts": 0, "dur": 100, "pid": 1, "tid": 1},)") +
                    kernels + "]}");
  };
  const KinetoTrace whole =
      trace(R"({"ph": "X", "cat": "kernel", "name": "gemm", "ts": 10, "dur": 60, "pid": 0, "tid": 7},
    {"ph": "X", "cat": "kernel", "name": "inner", "ts": 20, "dur": 5, "pid": 0, "tid": 7},
    {"ph": "X", "cat": "kernel", "name": "other", "ts": 30, "dur": 10, "pid": 0, "tid": 8})");
  const KinetoTrace halves = trace(R"({"ph": "E", "ts": 5, "pid": 0, "tid": 7},
    {"ph": "B", "cat": "kernel", "name": "gemm", "ts": 10, "pid": 0, "tid": 7},
    {"ph": "B", "cat": "kernel", "name": "inner", "ts": 20, "pid": 0, "tid": 7},
    {"ph": "E", "ts": 25, "pid": 0, "tid": 7},
    {"ph": "B", "cat": "kernel", "name": "other", "ts": 30, "pid": 0, "tid": 8},
    {"ph": "E", "ts": 40, "pid": 0, "tid": 8},
    {"ph": "E", "ts": 70, "pid": 0, "tid": 7},
    {"ph": "B", "cat": "kernel", "name": "never ended", "ts": 80, "pid": 0, "tid": 7})");
  REQUIRE(whole.kernels.size() == 3);
  REQUIRE(halves.kernels.size() == 3);
  for (const KinetoTrace::Kernel& kernel : whole.kernels)
    CHECK(std::ranges::count_if(halves.kernels, [&](const KinetoTrace::Kernel& other) {
            return other.name == kernel.name && other.start_us == kernel.start_us &&
                   other.duration_us == kernel.duration_us && other.stream == kernel.stream;
          }) == 1);
  CHECK(whole.broken_kernels == 0);
  CHECK(halves.broken_kernels == 1);
}

TEST_CASE("steps that a rank lacks are left out") {
  const std::string more = R"(,{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#2", "ts": 1100, "dur": 100},
    {"ph": "X", "cat": "kernel", "name": "gemm", "ts": 1110, "dur": 40, "tid": 7})";
  const ObservedTraces read =
      timeline_from_traces({trace_of(one_step(0, 1000, more)), trace_of(one_step(1, 1000))}, "t");
  CHECK(read.timeline.iterations_run == 1);
  CHECK(says(read.notes.at(0), "1 of 2 steps are left out"));
}

TEST_CASE("what is no set of traces is refused, with file and reason") {
  CHECK(says(message_of({{"a.json", one_step(0, 0)}, {"b.json", one_step(0, 0)}}), "b.json: rank 0, as a.json is too"));
  CHECK(
      says(message_of({{"a.json", "{\"traceEvents\": [\n{\"ph\": \"X\", \"na"}}), "a.json:2:15: not JSON, or cut off"));
  CHECK(says(message_of({{"a.json", "{}"}}), "a.json: not a trace"));
  CHECK(says(message_of({{"a.json", "3"}}), "a.json: not a trace"));
  CHECK(says(message_of({{"a.json", ""}}), "a.json:1:1: not JSON"));
  CHECK(says(message_of({{"a.json", "{\"traceEvents\": []}"}}), "traces: no GPU kernel"));
  CHECK(
      says(message_of({{"a.json", "{\"traceEvents\": []}"}, {"b.json", "{\"traceEvents\": []}"}}), "a.json: no rank"));
  CHECK(says(message_of({{"a.json", std::string(70, '[')}}), "nested too deeply"));
  CHECK(says(message_of({{"rank5.json", one_step(5, 0)}}), "a world of 2 ranks, where the others say 6"));
}

TEST_CASE("a folder without traces, a file that is no trace and no folder at all are refused") {
  const TemporaryFolder folder("kineto_read");
  const auto refused = [](const fs::path& path) {
    try {
      read_kineto_traces(path);
      return std::string();
    } catch (const Error& error) {
      return std::string(error.what());
    }
  };
  CHECK(says(refused(folder.path()), "holds no trace"));
  CHECK(says(refused(folder.path() / "nowhere"), "there is no such file or folder"));
  write_file(folder.path() / "rank0.json.gz", "x");
  CHECK(says(refused(folder.path()), "not JSON, or cut off"));  // whatever its name says, it is no file of gzip
  write_file(folder.path() / "rank0.json.gz", "PK\x03\x04trace");
  CHECK(says(refused(folder.path()), "rank0.json.gz: the file is a ZIP archive"));
  write_file(folder.path() / "rank0.json.gz", "rank0.json" + std::string(247, '\0') + "ustar  ");
  CHECK(says(refused(folder.path()), "rank0.json.gz: the file is a tar archive, and no trace. Unpack it first"));
}

}  // namespace
}  // namespace shardsim::kineto_read_test
