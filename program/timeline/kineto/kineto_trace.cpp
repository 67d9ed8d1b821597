#include "program/timeline/kineto/kineto_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/error.h"
#include "base/gzip_input.h"
#include "base/read_files.h"
#include "base/text.h"
#include "program/timeline/kineto/kineto_names.h"
#include "program/timeline/timeline.h"

namespace shardsim {
namespace {

constexpr std::size_t kDepth = 64;
// The latest time of a clock: after the year 2250 when counted from 1970, and doubles still tell microseconds apart.
constexpr double kMostClockUs = 9e15;
constexpr std::uint64_t kMostNanoseconds = std::uint64_t{1} << 62;
constexpr std::string_view kStep = "ProfilerStep#";
constexpr std::string_view kStream = "stream ";

// A number or a text: traces write some numbers either way.
struct Scalar {
  std::string text;
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
};

// One event while its fields come.
struct TraceEvent {
  std::string phase, category, name, args_name, operation, operation_class;
  std::optional<double> start_us, duration_us;
  std::int64_t process = 0, thread = 0, stream = -1, correlation = -1, external_id = -1, ahead = 0;
  std::optional<double> iteration_ms;
  bool continued = false;
  TracedCollective collective;

  bool timed() const { return start_us && duration_us && *duration_us >= 0; }

  void set(const std::string& key, const Scalar& value) {
    if (key == "ph") phase = value.text;
    if (key == "cat") category = value.text;
    if (key == "name") name = value.text;
    if (key == "ts") start_us = value.as_number();
    if (key == "dur") duration_us = value.as_number();
    if (key == "pid") process = value.whole(-1);
    if (key == "tid") thread = value.whole(-1);
  }

  void set_argument(const std::string& key, const Scalar& value) {
    if (key == "stream") stream = value.whole(-1);
    if (key == "correlation") correlation = value.whole(-1);
    if (key == "External id" || key == "external id") external_id = value.whole(-1);
    if (key == "name") args_name = value.text;
    if (key == "operation") operation = value.text;
    if (key == "operation class") operation_class = value.text;
    if (key == "iterations ahead") ahead = value.whole(0);
    if (key == "continued") continued = value.whole(0) != 0;
    if (key == "iteration ms") iteration_ms = value.as_number().value_or(-1);
    if (key == "Collective name") collective.name = value.text;
    if (key == "dtype") collective.dtype = value.text;
    if (key == "In msg nelems") collective.in_elements = value.whole(0);
    if (key == "Out msg nelems") collective.out_elements = value.whole(0);
    if (key == "Process Group Name") collective.group = value.text;
    if (key == "Process Group Ranks") collective.group_ranks = value.text;
    if (key == "Group size") collective.group_size = value.whole(0);
  }
};

bool is_copy(const TraceEvent& event) {
  return event.category == "gpu_memcpy" || event.category == "gpu_memset" || event.category == "Memcpy" ||
         event.category == "Memset";
}
bool is_kernel(const TraceEvent& event) {
  return event.category == "kernel" || event.category == "Kernel" || is_copy(event);
}

// What the host's range is for, if that matters: operators of embeddings by their names in PyTorch and FBGEMM, and the
// annotations of optimizers and backward passes.
std::optional<KinetoTrace::Range::Kind> range_kind(const TraceEvent& event) {
  using Kind = KinetoTrace::Range::Kind;
  const std::string& name = event.name;
  const auto holds = [&](const char* part) { return name.find(part) != std::string::npos; };
  if (event.category == "gpu_user_annotation" || event.category == "kernel") return std::nullopt;
  if (name.starts_with("Optimizer.step#") || name == "## optimizer ##") return Kind::optimizer;
  if (name == "## backward ##" || name.starts_with("autograd::engine::evaluate_function")) {
    if (!holds("mbedding")) return Kind::backward;
    return Kind::update;
  }
  if (event.category != "cpu_op" && event.category != "Operator") return std::nullopt;
  if (name == "aten::index_add_") return Kind::indexed_add;
  if (!holds("embedding")) return std::nullopt;
  return holds("backward") ? Kind::update : Kind::lookup;
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
    return;
  }
  check_start(trace, event);
  const std::int64_t stream = event.stream >= 0 ? event.stream : event.thread;
  trace.kernels.push_back({*event.start_us, *event.duration_us, event.process, stream, event.correlation,
                           event.external_id, std::move(event.name), std::move(event.operation),
                           std::move(event.operation_class), event.ahead, event.continued, std::move(event.collective),
                           is_copy(event)});
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
      {number, *event.start_us, *event.start_us + *event.duration_us, event.iteration_ms.value_or(0)});
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

void add_event(KinetoTrace& trace, TraceEvent& event) {
  if (event.phase == "M") {
    if (event.name == "thread_name" && event.args_name.starts_with(kStream)) name_stream(trace, event);
    return;
  }
  if (event.phase != "X") return;
  if (is_kernel(event)) return add_kernel(trace, event);
  if (event.name.starts_with(kStep) && event.category != "gpu_user_annotation") return add_step(trace, event);
  if (const auto kind = range_kind(event); kind && event.timed())
    trace.ranges.push_back({*kind, *event.start_us, *event.start_us + *event.duration_us, event.thread});
  const bool starts_work = event.name.find("Launch") != std::string::npos || event.name.starts_with("cudaMem");
  if (starts_work && event.correlation >= 0 && event.start_us)
    trace.launches[event.correlation] = {*event.start_us, event.thread};
  if (event.name == "record_param_comms" && event.timed() && event.collective.known())
    trace.comms.push_back({*event.start_us, *event.start_us + *event.duration_us, event.thread, event.external_id,
                           std::move(event.collective)});
}

// nlohmann's events. The meaning of a value depends on where it stands.
class TraceHandler : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit TraceHandler(KinetoTrace& trace) : trace_(trace) {}

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t value) override { return add({"", static_cast<double>(value)}); }
  bool number_unsigned(number_unsigned_t value) override {
    // A double holds it to 256 ns only.
    if (!open_.empty() && open_.back() == In::top && key_ == "baseTimeNanoseconds" && value < kMostNanoseconds)
      trace_.base_ns = static_cast<std::int64_t>(value);
    return add({"", static_cast<double>(value)});
  }
  bool number_float(number_float_t value, const string_t&) override { return add({"", value}); }
  bool string(string_t& text) override { return add({std::move(text), std::nullopt}); }
  bool binary(binary_t&) override { return false; }

  bool key(string_t& name) override {
    key_ = std::move(name);
    return true;
  }
  bool start_object(std::size_t) override { return open(false); }
  bool start_array(std::size_t) override { return open(true); }
  bool end_object() override {
    if (open_.back() == In::event) add_event(trace_, event_);
    return close();
  }
  bool end_array() override { return close(); }

  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& error) override {
    throw input_error({trace_.path, line_in(error.what())},
                      fmt::format("not JSON, or cut off; {} of the GPU in {} were read before",
                                  counted(trace_.kernels.size(), "event"), counted(trace_.steps.size(), "step")),
                      "Give the trace as the profiler wrote it");
  }

 private:
  enum class In { top, events, event, arguments, distributed, devices, device, elsewhere };

  // The parser's own count; "... at line 12, column 3: ..."
  static int line_in(const char* message) {
    const char* at = std::strstr(message, "at line ");
    int line = 0;
    if (at != nullptr) std::from_chars(at + 8, message + std::strlen(message), line);
    return line;
  }

  In child(bool is_list) const {
    if (open_.empty()) return is_list ? In::events : In::top;
    const In in = open_.back();
    if (in == In::top && key_ == "traceEvents" && is_list) return In::events;
    if (in == In::top && key_ == "distributedInfo" && !is_list) return In::distributed;
    if (in == In::top && key_ == "deviceProperties" && is_list) return In::devices;
    if (in == In::events && !is_list) return In::event;
    if (in == In::event && key_ == "args" && !is_list) return In::arguments;
    return in == In::devices && !is_list ? In::device : In::elsewhere;
  }

  bool open(bool is_list) {
    const In in = child(is_list);
    open_.push_back(in);
    if (open_.size() > kDepth)
      throw input_error({trace_.path}, "nested too deeply for a trace", "Give the trace as the profiler wrote it");
    if (in == In::events) trace_.has_events = true;
    if (in == In::event) event_ = {};
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  bool add(const Scalar& value) {
    if (open_.empty()) return true;
    const In in = open_.back();
    if (in == In::event) event_.set(key_, value);
    if (in == In::arguments) event_.set_argument(key_, value);
    if (in == In::device && key_ == "name" && trace_.device.empty()) trace_.device = value.text;
    if (in == In::distributed) add_distributed(value);
    return true;
  }

  void add_distributed(const Scalar& value) {
    if (key_ == "rank") trace_.rank = value.whole(-1);
    if (key_ == "world_size") trace_.world_size = value.whole(-1);
    if (key_ == "backend") trace_.backend = value.text;
    if (key_ == "nccl_version") trace_.nccl = value.text;
  }

  KinetoTrace& trace_;
  std::vector<In> open_;
  std::string key_;
  TraceEvent event_;
};

}  // namespace

KinetoTrace read_kineto_trace(std::istream& in, const std::string& path) {
  KinetoTrace trace;
  trace.path = path;
  TraceHandler handler(trace);
  nlohmann::json::sax_parse(in, &handler);
  if (!trace.has_events)
    throw input_error({path}, "not a trace: there is no list traceEvents",
                      "Give a folder that holds only Kineto traces");
  return trace;
}

KinetoTrace read_kineto_trace(const std::filesystem::path& path) {
  const std::unique_ptr<std::istream> in = open_text(path);
  note_read(path);
  return read_kineto_trace(*in, path.string());
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

KinetoRank::KinetoRank(const KinetoTrace& trace) : trace_(trace), steps_(trace.steps), comms_(trace.comms) {
  const auto by_start = [](const auto& a, const auto& b) { return a.start_us < b.start_us; };
  std::stable_sort(steps_.begin(), steps_.end(), by_start);
  std::stable_sort(comms_.begin(), comms_.end(), by_start);
  for (const KinetoTrace::Comms& comms : comms_)
    if (comms.external_id >= 0) by_id_.try_emplace(comms.external_id, &comms);
  for (const KinetoTrace::Range& range : trace.ranges) ranges_[range.kind].push_back(range);
  for (auto& [kind, of_kind] : ranges_) std::stable_sort(of_kind.begin(), of_kind.end(), by_start);
}

std::string KinetoRank::class_of(const KinetoTrace::Kernel& kernel) const {
  using Kind = KinetoTrace::Range::Kind;
  if (kernel.copies) return "dense";
  const std::string named = compute_class(kernel.name);
  if (named != "dense") return named;
  if (within(kernel, Kind::update)) return "update";
  if (within(kernel, Kind::lookup)) return "lookup";
  // Only sparse gradients are added to parameters by index.
  return within(kernel, Kind::indexed_add) && within(kernel, Kind::optimizer) ? "update" : "dense";
}

bool KinetoRank::within(const KinetoTrace::Kernel& kernel, KinetoTrace::Range::Kind kind) const {
  constexpr int kNested = 8;  // ranges of one kind are hardly deeper
  const auto found = ranges_.find(kind);
  if (found == ranges_.end()) return false;
  const double us = launch_us(kernel);
  const std::int64_t thread = thread_of(kernel);
  auto after = std::upper_bound(found->second.begin(), found->second.end(), us,
                                [](double at, const KinetoTrace::Range& range) { return at < range.start_us; });
  for (int looked = 0; after != found->second.begin() && looked < kNested; ++looked) {
    --after;
    if (us < after->end_us && (after->thread == thread || thread < 0)) return true;
  }
  return false;
}

std::int64_t KinetoRank::thread_of(const KinetoTrace::Kernel& kernel) const {
  const auto launch = trace_.launches.find(kernel.correlation);
  return launch == trace_.launches.end() ? -1 : launch->second.thread;
}

std::optional<KinetoTrace::Step> KinetoRank::step_of(const KinetoTrace::Kernel& kernel) const {
  if (steps_.empty()) return KinetoTrace::Step{};
  const double us = launch_us(kernel);
  auto after = std::upper_bound(steps_.begin(), steps_.end(), us,
                                [](double at, const KinetoTrace::Step& step) { return at < step.start_us; });
  if (after == steps_.begin()) return std::nullopt;
  --after;
  return us < after->end_us ? std::optional(*after) : std::nullopt;
}

TracedCollective KinetoRank::collective_of(const KinetoTrace::Kernel& kernel) const {
  if (kernel.collective.known()) return kernel.collective;
  const auto known = by_id_.find(kernel.external_id);
  if (known != by_id_.end()) return known->second->collective;
  const auto launch = trace_.launches.find(kernel.correlation);
  if (launch == trace_.launches.end()) return {};
  const double us = launch->second.start_us;
  auto after = std::upper_bound(comms_.begin(), comms_.end(), us,
                                [](double at, const KinetoTrace::Comms& comms) { return at < comms.start_us; });
  // The innermost of those that nest begins last; more than a few in a row do not.
  for (int looked = 0; after != comms_.begin() && looked < 16; ++looked) {
    --after;
    if (after->thread == launch->second.thread && us <= after->end_us) return after->collective;
  }
  return {};
}

double KinetoRank::launch_us(const KinetoTrace::Kernel& kernel) const {
  const auto launch = trace_.launches.find(kernel.correlation);
  return launch == trace_.launches.end() ? kernel.start_us : launch->second.start_us;
}

}  // namespace shardsim
