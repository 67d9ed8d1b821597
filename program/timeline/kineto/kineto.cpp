#include "program/timeline/kineto/kineto.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "base/files.h"
#include "program/timeline/kineto/kineto_names.h"
#include "program/timeline/named_times.h"

namespace shardsim {
namespace {

// Far above any device index, so that the CPU's row never is a GPU's.
constexpr int kHostProcess = 1000000;
constexpr int kLaunchThread = 1000001;
// Kineto cuts lists after 30 entries (pytorch/kineto, kTruncatLength); readers know it.
constexpr std::size_t kListEntries = 30;

// A rank list as Kineto writes it: a text.
std::string rank_list(const std::vector<int>& ranks) {
  std::string list = "[";
  for (std::size_t i = 0; i < ranks.size() && i < kListEntries; ++i)
    list += fmt::format("{}{}", i == 0 ? "" : ", ", ranks[i]);
  return list + (ranks.size() > kListEntries ? ", ...]" : "]");
}

// Elements into and out of the call: the larger of the two times the element's size is what readers take as its bytes.
std::string message_args(const Span& span, const Timeline::OpInfo& op, std::int64_t members) {
  const TraceElement type = element_of_dtype(op.dtype);
  const std::int64_t most = (span.bytes + type.bytes - 1) / type.bytes;
  const std::int64_t part = most / std::max<std::int64_t>(1, members);
  const std::int64_t in = op.op_class == "all_gather" ? part : most;
  const std::int64_t out = op.op_class == "reduce_scatter" ? part : most;
  return fmt::format(R"("In msg nelems": {}, "Out msg nelems": {}, "dtype": "{}")", in, out, type.torch);
}

// A kernel of the trace: a span, or what of it runs in the window of a steady iteration.
struct Slice {
  Span span;  // times of the trace
  int ahead = 0;
  bool continued = false;
};

// Overlapping neighbours of a steady iteration meet on a stream; it is steady to 1e-6, so they may cross by a little.
void keep_streams_in_order(std::vector<Slice>& slices) {
  std::map<int, double> free_us;
  for (auto& [span, ahead, continued] : slices) {
    const auto [before, fresh] = free_us.try_emplace(span.stream, span.start_us);
    span.start_us = std::max(span.start_us, before->second);
    before->second = span.end_us = std::max(span.start_us, span.end_us);
  }
}

// Times are whole nanoseconds, start and end rounded each, so that what nests before rounding nests after it.
class TraceWriter {
 public:
  TraceWriter(const Timeline& timeline, int rank, std::string case_name, bool whole_us)
      : timeline_(timeline),
        rank_(rank),
        device_(timeline.ranks_per_node > 0 ? rank % timeline.ranks_per_node : rank),
        case_name_(std::move(case_name)),
        grain_ns_(whole_us ? 1000 : 1),
        windows_(iteration_windows(timeline)) {
    for (const Timeline::OpInfo& op : timeline.ops) groups_.push_back(group_of(timeline, op, rank));
    add_slices();
    std::stable_sort(slices_.begin(), slices_.end(),
                     [](const Slice& a, const Slice& b) { return a.span.start_us < b.span.start_us; });
    if (repeats()) keep_streams_in_order(slices_);
    steps_ = step_begins();
  }

  std::string text() {
    header();
    metadata();
    steps();
    for (std::size_t i = 0; i < slices_.size(); ++i) launch_and_kernel(slices_[i], i + 1);
    out_ += "\n]}\n";
    return std::move(out_);
  }

 private:
  // Where two iterations differ, neighbours are no copies, and the whole iteration is shown.
  bool repeats() const { return timeline_.steady && windows_.size() == 1 && windows_.front().repeats; }

  // A steady iteration that overlaps its neighbours is shown as the window of one period, from 0 on.
  void add_slices() {
    if (!repeats()) {
      for (const Span& span : timeline_.spans)
        if (span.rank == rank_) slices_.push_back({span});
      return;
    }
    const auto parts = parts_in(timeline_, windows_);
    for (const WindowPart& part : parts.front()) {
      Span span = timeline_.spans[part.span];
      if (span.rank != rank_) continue;
      span.start_us = part.start_us - windows_.front().begin_us;
      span.end_us = part.end_us - windows_.front().begin_us;
      slices_.push_back({span, part.ahead, part.continued});
    }
  }

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

  // The end of the window of one period, which begins at 0.
  std::int64_t window_end_us() const { return whole_us_below(rounded_ns(windows_.front().ms() * 1e3) + 999); }

  // One step per kept iteration, from its first launch to that of the next.
  std::map<int, std::int64_t> step_begins() const {
    std::map<int, std::int64_t> begins;
    if (repeats()) return {{windows_.front().iteration, 0}};
    for (const Slice& slice : slices_)
      begins.try_emplace(slice.span.iteration, whole_us_below(rounded_ns(slice.span.start_us)));
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
    if (next != steps_.end()) return std::min(launch, next->second - 1);
    return repeats() ? std::min(launch, window_end_us() - 1) : launch;
  }

  // And an empty step behind them, since Holistic Trace Analysis drops the last.
  void steps() {
    std::int64_t end_us = steps_.empty() ? 0 : steps_.rbegin()->second + 1;
    for (const Slice& slice : slices_) end_us = std::max(end_us, whole_us_below(rounded_ns(slice.span.end_us)) + 1);
    if (repeats()) end_us = window_end_us();
    int last = -1;
    for (auto step = steps_.begin(); step != steps_.end(); ++step) {
      const auto next = std::next(step);
      last = step->first;
      write_step(last, step->second, next == steps_.end() ? end_us : next->second);
    }
    write_step(last + 1, end_us, end_us + 1);
  }

  void write_step(int number, std::int64_t begin_us, std::int64_t end_us) {
    // "iteration ms" has the exact length of the iteration, since the step lies on whole microseconds.
    const bool known = windows_.size() == 1 && number == windows_.front().iteration && timeline_.iteration_ms > 0;
    event(fmt::format(R"("ph": "X", "cat": "user_annotation", "name": "ProfilerStep#{0}", "pid": {1}, "tid": {1}, )"
                      R"("ts": {2}, "dur": {3}, "args": {{"Ev Idx": {0}{4}}})",
                      number, kHostProcess, begin_us, end_us - begin_us,
                      known ? fmt::format(R"(, "iteration ms": {})", timeline_.iteration_ms) : ""));
  }

  void launch_and_kernel(const Slice& slice, std::size_t correlation) {
    const Span& span = slice.span;
    const Timeline::OpInfo& op = timeline_.ops[static_cast<std::size_t>(span.op)];
    const std::int64_t start = rounded_ns(span.start_us), end = rounded_ns(span.end_us);
    if (is_host(op.op_class)) return host_work(slice, op, start, end);
    const std::int64_t launch = launch_us(span);
    event(fmt::format(R"("ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": {0}, "tid": {0}, )"
                      R"("ts": {1}, "dur": 0, "args": {{"correlation": {2}}})",
                      kHostProcess, launch, correlation));
    event(fmt::format(R"("ph": "X", "cat": "kernel", "name": {}, "pid": {}, "tid": {}, "ts": {}, "dur": {}, )"
                      R"("args": {{"device": {}, "stream": {}, "correlation": {}, "operation": {}, )"
                      R"("operation class": {}{}{}}})",
                      quoted(kernel_name(op)), device_, span.stream, us_text(start), us_text(end - start), device_,
                      span.stream, correlation, quoted(op.name), quoted(op.op_class), neighbour_args(slice),
                      collective_args(span, op)));
    for (const auto& [phase, process, track, ts] : {std::tuple("s", kHostProcess, kHostProcess, us_text(launch * 1000)),
                                                    std::tuple("f", device_, span.stream, us_text(start))})
      event(fmt::format(R"("ph": "{}", "id": {}, "pid": {}, "tid": {}, "ts": {}, "cat": "ac2g", "name": "ac2g"{})",
                        phase, correlation, process, track, ts, *phase == 'f' ? R"(, "bp": "e")" : ""));
  }

  void host_work(const Slice& slice, const Timeline::OpInfo& op, std::int64_t start_ns, std::int64_t end_ns) {
    event(fmt::format(R"("ph": "X", "cat": "cpu_op", "name": {}, "pid": {}, "tid": {}, "ts": {}, "dur": {}, )"
                      R"("args": {{"operation class": {}{}}})",
                      quoted(op.name), kHostProcess, kLaunchThread, us_text(start_ns), us_text(end_ns - start_ns),
                      quoted(op.op_class), neighbour_args(slice)));
  }

  // Arguments that mark work of another iteration than the step's, and the rest of work that began before the step.
  static std::string neighbour_args(const Slice& slice) {
    std::string args = slice.ahead != 0 ? fmt::format(R"(, "iterations ahead": {})", slice.ahead) : "";
    return args + (slice.continued ? R"(, "continued": 1)" : "");
  }

  std::string collective_args(const Span& span, const Timeline::OpInfo& op) const {
    if (!is_communication(op.op_class)) return "";
    const std::vector<int>& group = groups_[static_cast<std::size_t>(span.op)];
    const auto members = static_cast<std::int64_t>(group.size());
    return fmt::format(
        R"(, "Collective name": "{}", {}, "Group size": {}, "Process Group Name": {}, "Process Group Ranks": "{}")",
        torch_collective_name(op.op_class), message_args(span, op, members), members, quoted(op.group),
        rank_list(group));
  }

  const Timeline& timeline_;
  int rank_;
  int device_;
  std::string case_name_;
  std::int64_t grain_ns_;
  std::vector<std::vector<int>> groups_;  // [op]: the members of this rank's set
  std::vector<IterationWindow> windows_;
  std::vector<Slice> slices_;          // of this rank, by start
  std::map<int, std::int64_t> steps_;  // iteration -> begin, us
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
