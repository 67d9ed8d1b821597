#include "program/timeline/kineto/kineto_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/gzip_input.h"
#include "base/text.h"
#include "base/tree/json_events.h"
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

// A number or a text: traces write some numbers either way.
struct Scalar {
  std::string_view text;
  std::optional<double> number;

  std::optional<double> as_number() const {
    if (number) return number;
    double value = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failed != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
    return value;
  }
  std::int64_t whole(std::int64_t fallback) const {
    const std::optional<double> value = as_number();
    return value && std::abs(*value) < 9e15 ? static_cast<std::int64_t>(*value) : fallback;
  }
  // Threads and processes may be texts, or numbers that no double holds: these need only be told apart.
  std::int64_t identity() const {
    const std::int64_t number_of_it = whole(-1);
    if (number_of_it >= 0) return number_of_it;
    const std::size_t hashed = number ? std::hash<double>{}(*number) : std::hash<std::string_view>{}(text);
    return static_cast<std::int64_t>(hashed >> 1);
  }
};

// One event while its fields come.
struct TraceEvent {
  std::string phase, category, name, args_name, operation, operation_class;
  std::optional<double> start_us, duration_us;
  std::int64_t process = 0, thread = 0, stream = -1, correlation = -1, external_id = -1, ahead = 0;
  std::optional<double> iteration_ms;
  bool continued = false;
  TracedCollective collective;
  std::vector<std::vector<std::int64_t>> dims;
  std::string types;  // of the inputs, with blanks between

  bool timed() const { return start_us && duration_us && *duration_us >= 0; }

  // Texts keep their room for the next event.
  void clear() {
    for (std::string* const text : {&phase, &category, &name, &args_name, &operation, &operation_class, &types})
      text->clear();
    start_us = duration_us = iteration_ms = std::nullopt;
    process = thread = ahead = 0;
    stream = correlation = external_id = -1;
    continued = false;
    if (has_collective_) collective = {};
    has_collective_ = false;
    dims.clear();
  }

  void set(std::string_view key, const Scalar& value) {
    if (key == "ph") phase = value.text;
    if (key == "cat") category = value.text;
    if (key == "name") name = value.text;
    if (key == "ts") start_us = value.as_number();
    if (key == "dur") duration_us = value.as_number();
    if (key == "pid") process = value.identity();
    if (key == "tid") thread = value.identity();
  }

  void set_argument(std::string_view key, const Scalar& value) {
    if (key == "stream") stream = value.whole(-1);
    if (key == "correlation") correlation = value.whole(-1);
    if (key == "External id" || key == "external id") external_id = value.whole(-1);
    if (key == "name") args_name = value.text;
    if (key == "operation") operation = value.text;
    if (key == "operation class") operation_class = value.text;
    if (key == "iterations ahead") ahead = value.whole(0);
    if (key == "continued") continued = value.whole(0) != 0;
    if (key == "iteration ms") iteration_ms = value.as_number().value_or(-1);
    set_collective(key, value);
  }

 private:
  void set_collective(std::string_view key, const Scalar& value) {
    const auto say = [&](const char* known_as, std::string& held) {
      if (key != known_as) return;
      held = value.text;
      has_collective_ = true;
    };
    say("Collective name", collective.name);
    say("dtype", collective.dtype);
    say("Process Group Name", collective.group);
    say("Process Group Ranks", collective.group_ranks);
    const auto count = [&](const char* known_as, std::int64_t& held) {
      if (key != known_as) return;
      held = value.whole(0);
      has_collective_ = true;
    };
    count("In msg nelems", collective.in_elements);
    count("Out msg nelems", collective.out_elements);
    count("Group size", collective.group_size);
  }

  bool has_collective_ = false;
};

bool is_copy(const TraceEvent& event) {
  return event.category == "gpu_memcpy" || event.category == "gpu_memset" || event.category == "Memcpy" ||
         event.category == "Memset";
}
bool is_kernel(const TraceEvent& event) {
  return event.category == "kernel" || event.category == "Kernel" || is_copy(event);
}

// True of operators of the host, which say what they launch.
bool is_operator(const TraceEvent& event) {
  return event.category == "cpu_op" || event.category == "Operator";
}

// True of operators that run kernels however large their tensors are, and that models do not run on the host.
bool always_launches(std::string_view name) {
  constexpr std::array<std::string_view, 5> kNames = {"aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm",
                                                      "aten::threshold_backward"};
  return std::ranges::find(kNames, name) != kNames.end();
}

// FBGEMM's node of the backward pass of a lookup, which updates rows: CppNode<SplitLookupFunction_rowwise_adagrad_Op>.
bool is_gradient_of_tables(std::string_view name) {
  const std::size_t node = name.find("CppNode<");
  return node != std::string_view::npos && name.find("Lookup", node) != std::string_view::npos;
}

// True where the vectors of embeddings are rearranged on their way to or from the exchange and the dense part, as by
// fbgemm::permute_multi_embedding and fbgemm::recat_embedding_grad_output_mixed_D_batch: no row of a table is read.
bool rearranges_vectors(std::string_view name) {
  constexpr std::array<std::string_view, 5> kWords = {"permute", "Permute", "recat", "regroup", "merge_pooled"};
  return std::ranges::any_of(kWords, [&](std::string_view word) { return name.find(word) != std::string_view::npos; });
}

// Returns what the host's range is for, if that matters: operators of embeddings by their names in PyTorch and FBGEMM,
// and the annotations of optimizers and backward passes.
std::optional<KinetoTrace::Range::Kind> range_kind(const TraceEvent& event) {
  using Kind = KinetoTrace::Range::Kind;
  const std::string& name = event.name;
  const auto holds = [&](const char* part) { return name.find(part) != std::string::npos; };
  if (event.category == "gpu_user_annotation" || event.category == "kernel") return std::nullopt;
  if (name.starts_with("Optimizer.step#") || name == "## optimizer ##") return Kind::optimizer;
  const bool of_rows = (holds("mbedding") && !rearranges_vectors(name)) || is_gradient_of_tables(name);
  if (name == "## backward ##" || name.starts_with("autograd::engine::evaluate_function"))
    return of_rows ? Kind::update : Kind::backward;
  if (!is_operator(event)) return std::nullopt;
  if (name == "aten::index_add_") return Kind::indexed_add;
  if (always_launches(name)) return Kind::launches;
  if (!of_rows) return std::nullopt;
  return holds("backward") || is_gradient_of_tables(name) ? Kind::update : Kind::lookup;
}

// Operators nest, and only the outer ones are kept: a trace has millions.
void add_operator(KinetoTrace& trace, const TraceEvent& event) {
  std::vector<std::pair<double, double>>& spans = trace.operators[event.thread];
  const double start = *event.start_us, end = start + *event.duration_us;
  if (!spans.empty() && start >= spans.back().first && end <= spans.back().second) return;
  while (!spans.empty() && start <= spans.back().first && end >= spans.back().second) spans.pop_back();
  spans.emplace_back(start, end);
}

// A loss that compares a prediction of each sample with its label, so that its shapes say the batch. Others, as the
// cross entropy of classes, may have a label for each token of a sequence.
bool is_loss(std::string_view name) {
  constexpr std::array<std::string_view, 6> kLosses = {
      "aten::binary_cross_entropy", "aten::mse_loss",   "aten::l1_loss",
      "aten::smooth_l1_loss",       "aten::huber_loss", "aten::soft_margin_loss"};
  return name.find("backward") == std::string_view::npos &&
         std::ranges::any_of(kLosses, [&](std::string_view loss) { return name.starts_with(loss); });
}

// An operator whose shapes are kept: lookups and their backward pass by FBGEMM and PyTorch, all-reduces, the loss.
std::optional<KinetoTrace::Shaped::Kind> shaped_kind(const TraceEvent& event) {
  using Kind = KinetoTrace::Shaped::Kind;
  const std::string_view name = event.name;
  if (name.starts_with("fbgemm::split_embedding_codegen_lookup")) return Kind::tables;
  if (name == "aten::_embedding_bag") return Kind::bag;
  if (name == "aten::embedding") return Kind::sequence;
  if (name.starts_with("torch::autograd::") && is_gradient_of_tables(name)) return Kind::tables_gradient;
  if (name == "nccl:all_reduce") return Kind::reduced;
  return is_loss(name) ? std::optional(Kind::loss) : std::nullopt;
}

// A type as inputs are described with: "float", "c10::Half", "long int"; "" for those that no element here has.
std::string_view torch_type(std::string_view input) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kTypes = {{{"float", "Float"},
                                                                                    {"c10::Half", "Half"},
                                                                                    {"c10::BFloat16", "BFloat16"},
                                                                                    {"long", "Long"},
                                                                                    {"int", "Int"},
                                                                                    {"double", "Double"},
                                                                                    {"signed", "Char"},
                                                                                    {"unsigned", "Byte"}}};
  const std::string_view word = input.substr(0, input.find(' '));
  for (const auto& [described, name] : kTypes)
    if (word == described) return name;
  return "";
}

// "nccl:all_to_all" of the host: before record_param_comms had arguments, its shapes say what is exchanged.
std::optional<TracedCollective> annotated_collective(const TraceEvent& event) {
  constexpr std::string_view kNccl = "nccl:";
  if (!event.name.starts_with(kNccl) || event.category != "user_annotation" || event.dims.empty()) return std::nullopt;
  TracedCollective collective;
  collective.name = event.name.substr(kNccl.size());
  collective.dtype = torch_type(event.types);
  collective.in_elements = 1;
  for (const std::int64_t dim : event.dims.front()) {
    constexpr std::int64_t kMost = std::int64_t{1} << 30;
    if (dim < 0 || dim > kMost || collective.in_elements > kMost) return std::nullopt;
    collective.in_elements *= dim;
  }
  return collective;
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

// Events in two halves, begin and end (phases B and E), made whole: the last one that began on a thread ends first.
class Halves {
 public:
  void begin(const TraceEvent& event) { begun_[{event.process, event.thread}].push_back(event); }

  // The whole event that `last` ends; nothing where it began before the trace did.
  std::optional<TraceEvent> end(const TraceEvent& last) {
    std::vector<TraceEvent>& begun = begun_[{last.process, last.thread}];
    if (begun.empty()) return std::nullopt;
    TraceEvent whole = std::move(begun.back());
    begun.pop_back();
    whole.phase = "X";
    if (whole.start_us && last.start_us) whole.duration_us = *last.start_us - *whole.start_us;
    return whole;
  }

  // Those that never ended, without a duration.
  std::vector<TraceEvent> left() {
    std::vector<TraceEvent> events;
    for (auto& [thread, begun] : begun_)
      for (TraceEvent& event : begun) {
        event.phase = "X";
        events.push_back(std::move(event));
      }
    begun_.clear();
    return events;
  }

 private:
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<TraceEvent>> begun_;  // by process and thread
};

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

  void add(const Scalar& value) {
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

  void add_device(const Scalar& value) {
    Device& device = devices_.back();
    if (key_ == "id") device.id = value.whole(-1);
    if (key_ == "name") device.name = value.text;
    if (key_ == "totalGlobalMem") device.memory = value.whole(0);
  }

  void add_distributed(const Scalar& value) {
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
  Halves halves_;
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
