#include "program/timeline/kineto/kineto_event.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>
#include <utility>

namespace shardsim {
namespace {

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

// A loss that compares a prediction of each sample with its label, so that its shapes say the batch. Others, as the
// cross entropy of classes, may have a label for each token of a sequence.
bool is_loss(std::string_view name) {
  constexpr std::array<std::string_view, 6> kLosses = {
      "aten::binary_cross_entropy", "aten::mse_loss",   "aten::l1_loss",
      "aten::smooth_l1_loss",       "aten::huber_loss", "aten::soft_margin_loss"};
  return name.find("backward") == std::string_view::npos &&
         std::ranges::any_of(kLosses, [&](std::string_view loss) { return name.starts_with(loss); });
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

}  // namespace

std::optional<double> TraceScalar::as_number() const {
  if (number) return number;
  double value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::int64_t TraceScalar::whole(std::int64_t fallback) const {
  const std::optional<double> value = as_number();
  return value && std::abs(*value) < 9e15 ? static_cast<std::int64_t>(*value) : fallback;
}

std::int64_t TraceScalar::identity() const {
  const std::int64_t number_of_it = whole(-1);
  if (number_of_it >= 0) return number_of_it;
  const std::size_t hashed = number ? std::hash<double>{}(*number) : std::hash<std::string_view>{}(text);
  return static_cast<std::int64_t>(hashed >> 1);
}

void TraceEvent::clear() {
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

void TraceEvent::set(std::string_view key, const TraceScalar& value) {
  if (key == "ph") phase = value.text;
  if (key == "cat") category = value.text;
  if (key == "name") name = value.text;
  if (key == "ts") start_us = value.as_number();
  if (key == "dur") duration_us = value.as_number();
  if (key == "pid") process = value.identity();
  if (key == "tid") thread = value.identity();
}

void TraceEvent::set_argument(std::string_view key, const TraceScalar& value) {
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

void TraceEvent::set_collective(std::string_view key, const TraceScalar& value) {
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

bool is_copy(const TraceEvent& event) {
  return event.category == "gpu_memcpy" || event.category == "gpu_memset" || event.category == "Memcpy" ||
         event.category == "Memset";
}

bool is_kernel(const TraceEvent& event) {
  return event.category == "kernel" || event.category == "Kernel" || is_copy(event);
}

bool is_operator(const TraceEvent& event) {
  return event.category == "cpu_op" || event.category == "Operator";
}

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

std::optional<TraceEvent> EventHalves::end(const TraceEvent& last) {
  std::vector<TraceEvent>& begun = begun_[{last.process, last.thread}];
  if (begun.empty()) return std::nullopt;
  TraceEvent whole = std::move(begun.back());
  begun.pop_back();
  whole.phase = "X";
  if (whole.start_us && last.start_us) whole.duration_us = *last.start_us - *whole.start_us;
  return whole;
}

std::vector<TraceEvent> EventHalves::left() {
  std::vector<TraceEvent> events;
  for (auto& [thread, begun] : begun_)
    for (TraceEvent& event : begun) {
      event.phase = "X";
      events.push_back(std::move(event));
    }
  begun_.clear();
  return events;
}

}  // namespace shardsim
