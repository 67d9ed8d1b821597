#include "program/timeline/kineto/kineto_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <memory>
#include <numeric>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/encoding.h"
#include "base/error.h"
#include "base/gzip_input.h"
#include "base/text.h"
#include "base/tree/json_events.h"
#include "program/timeline/kineto/kineto_event.h"
#include "program/timeline/kineto/kineto_names.h"
#include "program/timeline/timeline.h"

namespace shardsim {
namespace {

constexpr std::size_t kDepth = 64;
// The latest time of a clock: after the year 2250 when counted from 1970, and doubles still tell microseconds apart.
constexpr double kMostClockUs = 9e15;
constexpr std::uint64_t kMostNanoseconds = std::uint64_t{1} << 62;
constexpr std::int64_t kMostStepsAhead = 1000;  // iterations; readers allow far fewer
constexpr std::string_view kStep = "ProfilerStep#";
constexpr std::string_view kStream = "stream ";

// Operators nest, and only the outer ones are kept: a trace has millions.
void add_operator(KinetoTrace& trace, const TraceEvent& event) {
  std::vector<std::pair<double, double>>& spans = trace.operators[event.thread];
  const double start = *event.start_us, end = start + *event.duration_us;
  if (!spans.empty() && start >= spans.back().first && end <= spans.back().second) return;
  while (!spans.empty() && start <= spans.back().first && end >= spans.back().second) spans.pop_back();
  spans.emplace_back(start, end);
}

// "hipLaunchKernel", "hipMemcpyAsync".
bool is_hip_call(const std::string& name) {
  return name.size() > 3 && name.starts_with("hip") && name[3] >= 'A' && name[3] <= 'Z';
}

// Beside such a start every duration is lost.
void check_start(const KinetoTrace& trace, const TraceEvent& event) {
  if (std::abs(*event.start_us) <= kMostClockUs) return;
  throw input_error({trace.path}, fmt::format("{} has an impossible time: {} us", excerpt(event.name), *event.start_us),
                    "Give the trace as the profiler wrote it");
}

void add_kernel(KinetoTrace& trace, TraceEvent& event) {
  if (!event.timed()) {
    ++trace.broken_events;
    if (!is_copy(event)) ++trace.broken_kernels;
    return;
  }
  check_start(trace, event);
  const std::int64_t stream = event.stream >= 0 ? event.stream : event.thread;
  const auto kept = [&](const std::string& text) { return std::string_view(*trace.names->insert(text).first); };
  KinetoTrace::Kernel kernel{
      *event.start_us,
      *event.duration_us,
      event.process,
      stream,
      event.correlation,
      event.external_id,
      kept(event.name),
      kept(event.operation),
      kept(event.operation_class),
      static_cast<std::int32_t>(std::clamp<std::int64_t>(event.ahead, -kMostStepsAhead, kMostStepsAhead)),
      event.continued,
      is_copy(event)};
  if (event.collective.known()) kernel.collective = std::make_shared<const TracedCollective>(event.collective);
  trace.kernels.push_back(std::move(kernel));
}

void add_step(KinetoTrace& trace, const TraceEvent& event) {
  const std::string_view digits = std::string_view(event.name).substr(kStep.size());
  int number = 0;
  const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (failed != std::errc() || number < 0 || !event.timed()) return;
  check_start(trace, event);
  if (event.iteration_ms && !is_iteration_ms(*event.iteration_ms)) {
    throw input_error({trace.path}, fmt::format("{} has an impossible iteration ms", excerpt(event.name)),
                      "Give the trace as shardsim wrote it");
  }
  trace.steps.push_back(
      {number, *event.start_us, *event.start_us + *event.duration_us, event.iteration_ms.value_or(0), event.process});
}

// "stream 7", or "stream 1 world" in ours.
void name_stream(KinetoTrace& trace, const TraceEvent& event) {
  const std::string_view whole = event.args_name;
  std::string_view name = whole.substr(kStream.size());
  const std::string number = std::to_string(event.thread);
  if (name.starts_with(number)) name.remove_prefix(number.size());
  name.remove_prefix(std::min(name.find_first_not_of(' '), name.size()));
  trace.stream_names[event.thread] = name.empty() ? std::string(kStream) + number : std::string(name);
}

// Accelerators that are no GPU of NVIDIA, by the categories of their events in Kineto, or by the process that
// Ascend's profiler names so.
void note_platform(KinetoTrace& trace, const TraceEvent& event) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kPlatforms = {
      {{"xpu_", "Intel's XPU"},
       {"mtia_", "MTIA"},
       {"hpu_", "Gaudi (HPU)"},
       {"privateuse1_", "a device of an extension of PyTorch (PrivateUse1)"}}};
  if (!trace.other_platform.empty()) return;
  for (const auto& [category, platform] : kPlatforms)
    if (event.category.starts_with(category)) trace.other_platform = platform;
  if (event.phase == "M" && event.args_name.starts_with("Ascend Hardware")) trace.other_platform = "Ascend's NPU";
  if (event.phase == "X" && is_hip_call(event.name)) trace.other_platform = "ROCm (its host calls HIP)";
}

void add_event(KinetoTrace& trace, TraceEvent& event) {
  note_platform(trace, event);
  if (event.phase == "M") {
    if (event.name == "thread_name" && event.args_name.starts_with(kStream)) name_stream(trace, event);
    return;
  }
  if (event.phase != "X") return;
  if (is_kernel(event)) return add_kernel(trace, event);
  if (event.name.starts_with(kStep) && event.category != "gpu_user_annotation") return add_step(trace, event);
  if (const auto kind = range_kind(event); kind && event.timed())
    trace.ranges.push_back({*kind, *event.start_us, *event.start_us + *event.duration_us, event.thread});
  if (is_operator(event) && event.timed()) add_operator(trace, event);
  if (auto collective = annotated_collective(event); collective && event.timed())
    trace.comms.push_back({*event.start_us, *event.start_us + *event.duration_us, event.thread, -1, *collective});
  if (!event.dims.empty() && event.start_us)
    if (const auto kind = shaped_kind(event))
      trace.shaped.push_back(
          {*kind, *event.start_us, std::move(event.dims), event.types.find("Half") != std::string::npos});
  const bool starts_work = event.name.find("Launch") != std::string::npos || event.name.starts_with("cudaMem");
  if (starts_work && event.correlation >= 0 && event.start_us)
    trace.launches[event.correlation] = {*event.start_us, event.thread, event.process,
                                         event.name.find("GraphLaunch") != std::string::npos,
                                         event.name.find("LaunchKernel") != std::string::npos};
  if (event.name == "record_param_comms" && event.timed() && event.collective.known())
    trace.comms.push_back({*event.start_us, *event.start_us + *event.duration_us, event.thread, event.external_id,
                           std::move(event.collective)});
}

// The meaning of a value depends on where it stands.
class TraceHandler : public JsonEvents {
 public:
  explicit TraceHandler(KinetoTrace& trace) : trace_(trace) {}

  void word() override {}
  void number(std::string_view digits, double value) override {
    // A double holds it to 256 ns only.
    if (!open_.empty() && open_.back() == In::top && key_ == "baseTimeNanoseconds") {
      std::uint64_t whole = 0;
      const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), whole);
      if (failed == std::errc() && end == digits.data() + digits.size() && whole < kMostNanoseconds)
        trace_.base_ns = static_cast<std::int64_t>(whole);
    }
    add({"", value});
  }
  void text(std::string_view value) override { add({value, std::nullopt}); }
  void key(std::string_view name) override { key_ = name; }

  void begin(bool is_list) override {
    const In in = child(is_list);
    open_.push_back(in);
    if (open_.size() > kDepth)
      throw input_error({trace_.path}, "nested too deeply for a trace", "Give the trace as the profiler wrote it");
    if (in == In::events) trace_.has_events = true;
    if (in == In::event) event_.clear();
    if (in == In::shape) event_.dims.emplace_back();
    if (in == In::device) devices_.emplace_back();
  }
  void end(bool) override {
    if (open_.back() == In::event) take(event_);
    open_.pop_back();
  }

  // Kernels that began and never ended are broken events, as those without a duration.
  void take_the_rest() {
    for (TraceEvent& event : halves_.left()) add_event(trace_, event);
  }

  // The device that the kernels ran on: the profiler lists all of a node, a display's among them. The first one where
  // none has their number.
  void choose_device() {
    if (devices_.empty()) return;
    const auto ran = std::ranges::find_if(trace_.kernels, [](const auto& kernel) { return !kernel.copies; });
    const Device* chosen = &devices_.front();
    for (const Device& each : devices_)
      if (ran != trace_.kernels.end() && each.id == ran->device) chosen = &each;
    trace_.device = chosen->name;
    trace_.device_memory = chosen->memory;
  }

  std::string read_so_far() const {
    return fmt::format("{} of the GPU in {} were read before", counted(trace_.kernels.size(), "event"),
                       counted(trace_.steps.size(), "step"));
  }

 private:
  enum class In { top, events, event, arguments, shapes, shape, types, distributed, devices, device, elsewhere };

  void take(TraceEvent& event) {
    if (event.phase == "B") return halves_.begin(event);
    if (event.phase != "E") return add_event(trace_, event);
    if (std::optional<TraceEvent> whole = halves_.end(event)) add_event(trace_, *whole);
  }

  In child(bool is_list) const {
    if (open_.empty()) return is_list ? In::events : In::top;
    const In in = open_.back();
    if (in == In::top && key_ == "traceEvents" && is_list) return In::events;
    if (in == In::top && key_ == "distributedInfo" && !is_list) return In::distributed;
    if (in == In::top && key_ == "deviceProperties" && is_list) return In::devices;
    if (in == In::events && !is_list) return In::event;
    if (in == In::event && key_ == "args" && !is_list) return In::arguments;
    if (in == In::arguments && is_list && (key_ == "Input Dims" || key_ == "Input dims")) return In::shapes;
    if (in == In::arguments && is_list && key_ == "Input type") return In::types;
    if (in == In::shapes && is_list) return In::shape;
    return in == In::devices && !is_list ? In::device : In::elsewhere;
  }

  void add(const TraceScalar& value) {
    if (open_.empty()) return;
    const In in = open_.back();
    if (in == In::event) event_.set(key_, value);
    if (in == In::arguments) event_.set_argument(key_, value);
    if (in == In::shape) event_.dims.back().push_back(value.whole(0));
    if (in == In::types) event_.types.append(value.text).append(" ");
    if (in == In::device) add_device(value);
    if (in == In::distributed) add_distributed(value);
    if (in == In::top && key_ == "mergedRanks") trace_.merged = true;
  }

  void add_device(const TraceScalar& value) {
    Device& device = devices_.back();
    if (key_ == "id") device.id = value.whole(-1);
    if (key_ == "name") device.name = value.text;
    if (key_ == "totalGlobalMem") device.memory = value.whole(0);
  }

  void add_distributed(const TraceScalar& value) {
    if (key_ == "rank") trace_.rank = value.whole(-1);
    if (key_ == "world_size") trace_.world_size = value.whole(-1);
    if (key_ == "backend") trace_.backend = value.text;
    if (key_ == "nccl_version") trace_.nccl = value.text;
  }

  struct Device {
    std::int64_t id = -1;
    std::string name;
    std::int64_t memory = 0;
  };

  KinetoTrace& trace_;
  std::vector<Device> devices_;
  std::vector<In> open_;
  std::string key_;
  TraceEvent event_;
  EventHalves halves_;
};

// What the trace is of where that is not CUDA; "" where it is.
std::string other_platform(const KinetoTrace& trace) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kDevices = {{{"AMD", "ROCm"},
                                                                                      {"Instinct", "ROCm"},
                                                                                      {"Intel", "Intel's XPU"},
                                                                                      {"Ascend", "Ascend's NPU"},
                                                                                      {"Gaudi", "Gaudi (HPU)"},
                                                                                      {"MTIA", "MTIA"}}};
  for (const auto& [word, platform] : kDevices)
    if (trace.device.find(word) != std::string::npos) return fmt::format("{} ({})", platform, excerpt(trace.device));
  return trace.backend == "rccl" ? "ROCm (its collectives are RCCL's)" : trace.other_platform;
}

// Files that were put together may have an event twice. Nothing of the GPU has the launch, stream and time of another.
void leave_out_repeated(KinetoTrace& trace) {
  std::vector<KinetoTrace::Kernel>& kernels = trace.kernels;
  std::vector<std::uint32_t> order(kernels.size());
  std::iota(order.begin(), order.end(), 0U);
  const auto key = [&](std::uint32_t index) {
    const KinetoTrace::Kernel& of = kernels[index];
    return std::tie(of.start_us, of.stream, of.device, of.correlation, of.duration_us, of.name, of.operation);
  };
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
  std::vector<bool> again(kernels.size(), false);
  for (std::size_t i = 1; i < order.size(); ++i)
    if (kernels[order[i]].correlation >= 0 && key(order[i]) == key(order[i - 1])) again[order[i]] = true;
  trace.repeated = std::ranges::count(again, true);
  if (trace.repeated == 0) return;
  std::vector<KinetoTrace::Kernel> once;
  for (std::size_t i = 0; i < kernels.size(); ++i)
    if (!again[i]) once.push_back(std::move(kernels[i]));
  kernels = std::move(once);
  std::vector<KinetoTrace::Shaped>& shaped = trace.shaped;
  std::ranges::stable_sort(shaped, {}, &KinetoTrace::Shaped::start_us);
  const auto same = [](const KinetoTrace::Shaped& a, const KinetoTrace::Shaped& b) {
    return a.kind == b.kind && a.start_us == b.start_us && a.dims == b.dims;
  };
  shaped.erase(std::unique(shaped.begin(), shaped.end(), same), shaped.end());
}

}  // namespace

KinetoTrace read_kineto_trace(std::istream& in, const std::string& path) {
  KinetoTrace trace;
  trace.path = path;
  TraceHandler handler(trace);
  try {
    if (const std::optional<ScanFault> fault = scan_json(in, handler))
      throw input_error({path, fault->line, fault->column}, "not JSON, or cut off; " + handler.read_so_far(),
                        "Give the trace as the profiler wrote it");
  } catch (const DamagedFile&) {
    throw input_error({path}, "the compressed file is cut off or damaged; " + handler.read_so_far(),
                      "Check it with gzip -t, and copy it again from where it was written");
  }
  if (!trace.has_events)
    throw input_error({path}, "not a trace: there is no list traceEvents",
                      "Give a Kineto trace, or a folder that holds only such");
  if (trace.merged)
    throw input_error({path}, "a trace of several ranks in one file, which run --one-file has written for Perfetto",
                      "Give the folder that run --trace writes without --one-file, with a file per rank");
  handler.take_the_rest();
  handler.choose_device();
  if (const std::string platform = other_platform(trace); !platform.empty())
    throw input_error({path}, fmt::format("a trace of {}, whose kernels are not known here", platform),
                      "Give one of CUDA");
  leave_out_repeated(trace);
  return trace;
}

namespace {

// Archives and other files that are no text are called what they are.
void refuse_binary(const std::filesystem::path& path) {
  constexpr std::size_t kHead = 512;                    // a tar archive is named within it
  if (!std::filesystem::is_regular_file(path)) return;  // a pipe is read once
  std::string head(kHead, '\0');
  const std::unique_ptr<std::istream> in = open_text(path);
  in->read(head.data(), static_cast<std::streamsize>(head.size()));  // where it is damaged, the next reader says so
  head.resize(static_cast<std::size_t>(in->gcount()));
  if (const std::optional<BinaryFormat> format = binary_format(head))
    throw input_error({path.string()}, fmt::format("the file is {}, and no trace", format->name),
                      std::string(format->remedy));
}

}  // namespace

KinetoTrace read_kineto_trace(const std::filesystem::path& path) {
  if (std::filesystem::is_directory(path))
    throw input_error({path.string()}, "is a folder, where one trace is due", "Name one of the traces in it");
  refuse_binary(path);
  const std::unique_ptr<std::istream> in = open_text(path);
  return read_kineto_trace(*in, path.string());
}

bool KinetoTrace::of_timeline() const {
  return std::ranges::any_of(kernels, [](const Kernel& kernel) { return !kernel.operation_class.empty(); });
}

std::optional<std::int64_t> rank_in_name(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename().string();
  const std::size_t at = name.rfind("rank");
  if (at == std::string::npos) return std::nullopt;
  const std::size_t digits = name.find_first_of("0123456789", at);
  if (digits == std::string::npos || digits > at + 5) return std::nullopt;
  std::int64_t rank = 0;
  const auto [end, failed] = std::from_chars(name.data() + digits, name.data() + name.size(), rank);
  return failed == std::errc() ? std::optional(rank) : std::nullopt;
}

std::vector<int> members_in(const std::string& text, int world_size) {
  if (!text.starts_with('[') || !text.ends_with(']') || text.find("..") != std::string::npos) return {};
  std::vector<int> members;
  for (const std::string& part : split(text.substr(1, text.size() - 2), ',')) {
    const std::size_t first = part.find_first_not_of(' ');
    int rank = -1;
    if (first != std::string::npos) std::from_chars(part.data() + first, part.data() + part.size(), rank);
    if (rank < 0 || rank >= world_size) return {};
    members.push_back(rank);
  }
  return members;
}

}  // namespace shardsim
