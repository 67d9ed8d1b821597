#include "sim/timeline/kineto/kineto.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "base/files.h"

namespace shardsim {
namespace {

// Far above any device index, so that the CPU's row never is a GPU's.
constexpr int kHostProcess = 1000000;
// Kineto cuts lists after 30 entries (pytorch/kineto, kTruncatLength); readers know it.
constexpr std::size_t kListEntries = 30;

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

struct ElementType {
  std::string_view dtype;   // as Timeline::OpInfo
  std::string_view torch;   // as PyTorch's profiler writes it
  std::string_view kernel;  // in names of NCCL kernels
  std::int64_t bytes;
};

// Names: c10 ScalarType; NVIDIA/nccl src/device/generate.py. Not known: bytes.
ElementType element_type(std::string_view dtype) {
  constexpr std::array<ElementType, 6> kTypes = {{{"fp32", "Float", "f32", 4},
                                                  {"fp16", "Half", "f16", 2},
                                                  {"bf16", "BFloat16", "bf16", 2},
                                                  {"int8", "Char", "i8", 1},
                                                  {"int32", "Int", "i32", 4},
                                                  {"int64", "Long", "i64", 8}}};
  const auto* found = std::find_if(kTypes.begin(), kTypes.end(), [&](const auto& type) { return type.dtype == dtype; });
  return found != kTypes.end() ? *found : ElementType{dtype, "Byte", "u8", 1};
}

struct CollectiveNames {
  std::string_view op_class;
  std::string_view torch;   // argument "Collective name" (torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp)
  std::string_view kernel;  // NCCL 2.19 and later: ncclDevKernel_...
  bool reduces = false;
  bool has_algorithm = false;
};

CollectiveNames collective_names(std::string_view op_class) {
  constexpr std::array<CollectiveNames, 7> kNames = {
      {{"all_gather", "_allgather_base", "AllGather", false, true},
       {"all_reduce", "allreduce", "AllReduce", true, true},
       {"all_to_all", "all_to_allv", "SendRecv", false, false},
       {"all_to_all_v", "all_to_allv", "SendRecv", false, false},
       {"broadcast", "broadcast", "Broadcast", false, true},
       {"reduce_scatter", "_reduce_scatter_base", "ReduceScatter", true, true},
       {"send_recv", "send", "SendRecv", false, false}}};
  return *std::find_if(kNames.begin(), kNames.end(), [&](const auto& names) { return names.op_class == op_class; });
}

// Readers know communication by its kernel's name alone: it must start with "nccl"
// (facebookresearch/HolisticTraceAnalysis, hta/common/types.py).
std::string kernel_name(const Timeline::OpInfo& op) {
  if (!is_communication(op.op_class)) return op.name;
  const CollectiveNames names = collective_names(op.op_class);
  std::string name = fmt::format("ncclDevKernel_{}", names.kernel);
  if (names.reduces) name += fmt::format("_Sum_{}", element_type(op.dtype).kernel);
  if (names.has_algorithm) name += op.algorithm == "tree" || op.algorithm == "Tree" ? "_TREE_LL" : "_RING_LL";
  return name;
}

// A rank list as Kineto writes it: a text.
std::string rank_list(const std::vector<int>& ranks) {
  std::string list = "[";
  for (std::size_t i = 0; i < ranks.size() && i < kListEntries; ++i)
    list += fmt::format("{}{}", i == 0 ? "" : ", ", ranks[i]);
  return list + (ranks.size() > kListEntries ? ", ...]" : "]");
}

// Elements into and out of the call: the larger of the two times the element's size is what readers take as its bytes.
std::string message_args(const Span& span, const Timeline::OpInfo& op, std::int64_t members) {
  const ElementType type = element_type(op.dtype);
  const std::int64_t most = (span.bytes + type.bytes - 1) / type.bytes;
  const std::int64_t part = most / std::max<std::int64_t>(1, members);
  const std::int64_t in = op.op_class == "all_gather" ? part : most;
  const std::int64_t out = op.op_class == "reduce_scatter" ? part : most;
  return fmt::format(R"("In msg nelems": {}, "Out msg nelems": {}, "dtype": "{}")", in, out, type.torch);
}

// Times are whole nanoseconds, start and end rounded each, so that what nests before rounding nests after it.
class TraceWriter {
 public:
  TraceWriter(const Timeline& timeline, int rank, std::string case_name, bool whole_us)
      : timeline_(timeline),
        rank_(rank),
        device_(timeline.ranks_per_node > 0 ? rank % timeline.ranks_per_node : rank),
        case_name_(std::move(case_name)),
        grain_ns_(whole_us ? 1000 : 1) {
    for (const Timeline::OpInfo& op : timeline.ops) groups_.push_back(group_of(timeline, op, rank));
    for (const Span& span : timeline.spans)
      if (span.rank == rank) spans_.push_back(span);
    std::stable_sort(spans_.begin(), spans_.end(),
                     [](const Span& a, const Span& b) { return a.start_us < b.start_us; });
    steps_ = step_begins();
  }

  std::string text() {
    header();
    metadata();
    steps();
    for (std::size_t i = 0; i < spans_.size(); ++i) launch_and_kernel(spans_[i], i + 1);
    out_ += "\n]}\n";
    return std::move(out_);
  }

 private:
  void header() {
    out_ += "{\"schemaVersion\": 1,\n";
    out_ += fmt::format("\"deviceProperties\": [{{\"id\": {}}}],\n", device_);
    // Readers find the rank by the pattern "rank":\s+\d, so the blank counts.
    out_ += fmt::format("\"distributedInfo\": {{\"backend\": \"nccl\", \"rank\": {}, \"world_size\": {}}},\n", rank_,
                        timeline_.world_size);
    out_ += "\"displayTimeUnit\": \"ms\",\n\"baseTimeNanoseconds\": 0,\n";
    out_ +=
        fmt::format("\"traceName\": {},\n\"traceEvents\": [", quoted(fmt::format("{}/rank{}.json", case_name_, rank_)));
  }

  void event(const std::string& fields) {
    out_ += first_ ? "\n{" : ",\n{";
    out_ += fields + "}";
    first_ = false;
  }

  void name_row(const char* what, int process, int track, const std::string& name) {
    event(fmt::format(R"("ph": "M", "name": "{}", "pid": {}, "tid": {}, "ts": 0, "args": {{"name": {}}})", what,
                      process, track, quoted(name)));
  }

  void metadata() {
    name_row("process_name", kHostProcess, kHostProcess, fmt::format("rank {} host, {}", rank_, timeline_.kind));
    name_row("thread_name", kHostProcess, kHostProcess, "launches");
    name_row("process_name", device_, 0, fmt::format("rank {} GPU {}, {}", rank_, device_, case_name_));
    for (std::size_t stream = 0; stream < timeline_.streams.size(); ++stream)
      name_row("thread_name", device_, static_cast<int>(stream),
               fmt::format("stream {} {}", stream, timeline_.streams[stream]));
  }

  std::int64_t rounded_ns(double us) const {
    return std::llround(us * 1e3 / static_cast<double>(grain_ns_)) * grain_ns_;
  }

  static std::string us_text(std::int64_t ns) {
    const std::int64_t size = ns < 0 ? -ns : ns;
    return fmt::format("{}{}.{:03}", ns < 0 ? "-" : "", size / 1000, size % 1000);
  }

  static std::int64_t whole_us_below(std::int64_t ns) { return ns >= 0 ? ns / 1000 : -((999 - ns) / 1000); }

  // One step per kept iteration, from its first launch to that of the next.
  std::map<int, std::int64_t> step_begins() const {
    std::map<int, std::int64_t> begins;
    for (const Span& span : spans_) begins.try_emplace(span.iteration, whole_us_below(rounded_ns(span.start_us)));
    std::int64_t least = std::numeric_limits<std::int64_t>::min();
    for (auto& [iteration, begin] : begins) least = (begin = std::max(begin, least)) + 1;
    return begins;
  }

  // Launches lie on whole microseconds at or before their kernel, since readers round a start up, and inside the step
  // of their iteration, as on a host that launches ahead.
  std::int64_t launch_us(const Span& span) const {
    const auto step = steps_.find(span.iteration);
    const auto next = std::next(step);
    const std::int64_t launch = std::max(step->second, whole_us_below(rounded_ns(span.start_us)));
    return next == steps_.end() ? launch : std::min(launch, next->second - 1);
  }

  // And an empty step behind them, since Holistic Trace Analysis drops the last.
  void steps() {
    std::int64_t end_us = steps_.empty() ? 0 : steps_.rbegin()->second + 1;
    for (const Span& span : spans_) end_us = std::max(end_us, whole_us_below(rounded_ns(span.end_us)) + 1);
    int last = -1;
    for (auto step = steps_.begin(); step != steps_.end(); ++step) {
      const auto next = std::next(step);
      last = step->first;
      write_step(last, step->second, next == steps_.end() ? end_us : next->second);
    }
    write_step(last + 1, end_us, end_us + 1);
  }

  void write_step(int number, std::int64_t begin_us, std::int64_t end_us) {
    event(fmt::format(R"("ph": "X", "cat": "user_annotation", "name": "ProfilerStep#{0}", "pid": {1}, "tid": {1}, )"
                      R"("ts": {2}, "dur": {3}, "args": {{"Ev Idx": {0}}})",
                      number, kHostProcess, begin_us, end_us - begin_us));
  }

  void launch_and_kernel(const Span& span, std::size_t correlation) {
    const Timeline::OpInfo& op = timeline_.ops[static_cast<std::size_t>(span.op)];
    const std::int64_t start = rounded_ns(span.start_us), end = rounded_ns(span.end_us);
    const std::int64_t launch = launch_us(span);
    event(fmt::format(R"("ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": {0}, "tid": {0}, )"
                      R"("ts": {1}, "dur": 0, "args": {{"correlation": {2}}})",
                      kHostProcess, launch, correlation));
    event(fmt::format(R"("ph": "X", "cat": "kernel", "name": {}, "pid": {}, "tid": {}, "ts": {}, "dur": {}, )"
                      R"("args": {{"device": {}, "stream": {}, "correlation": {}, "operation": {}, )"
                      R"("operation class": {}{}}})",
                      quoted(kernel_name(op)), device_, span.stream, us_text(start), us_text(end - start), device_,
                      span.stream, correlation, quoted(op.name), quoted(op.op_class), collective_args(span, op)));
    for (const auto& [phase, process, track, ts] : {std::tuple("s", kHostProcess, kHostProcess, us_text(launch * 1000)),
                                                    std::tuple("f", device_, span.stream, us_text(start))})
      event(fmt::format(R"("ph": "{}", "id": {}, "pid": {}, "tid": {}, "ts": {}, "cat": "ac2g", "name": "ac2g"{})",
                        phase, correlation, process, track, ts, *phase == 'f' ? R"(, "bp": "e")" : ""));
  }

  std::string collective_args(const Span& span, const Timeline::OpInfo& op) const {
    if (!is_communication(op.op_class)) return "";
    const std::vector<int>& group = groups_[static_cast<std::size_t>(span.op)];
    const auto members = static_cast<std::int64_t>(group.size());
    return fmt::format(
        R"(, "Collective name": "{}", {}, "Group size": {}, "Process Group Name": {}, "Process Group Ranks": "{}")",
        collective_names(op.op_class).torch, message_args(span, op, members), members, quoted(op.group),
        rank_list(group));
  }

  const Timeline& timeline_;
  int rank_;
  int device_;
  std::string case_name_;
  std::int64_t grain_ns_;
  std::vector<std::vector<int>> groups_;  // [op]: the members of this rank's set
  std::vector<Span> spans_;               // of this rank, by start
  std::map<int, std::int64_t> steps_;     // iteration -> begin, us
  std::string out_;
  bool first_ = true;
};

}  // namespace

std::string kineto_trace(const Timeline& timeline, int rank, const std::string& case_name, bool whole_us) {
  return TraceWriter(timeline, rank, case_name, whole_us).text();
}

void write_kineto_traces(const std::filesystem::path& folder, const Timeline& timeline, const std::string& case_name,
                         bool whole_us) {
  for (int rank = 0; rank < timeline.world_size; ++rank)
    write_file(folder / fmt::format("rank{}.json", rank), kineto_trace(timeline, rank, case_name, whole_us));
}

}  // namespace shardsim
