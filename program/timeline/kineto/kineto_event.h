#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "program/timeline/kineto/kineto_trace.h"

namespace shardsim {

// A number or a text: traces write some numbers either way.
struct TraceScalar {
  std::string_view text;
  std::optional<double> number;

  std::optional<double> as_number() const;
  std::int64_t whole(std::int64_t fallback) const;
  // Threads and processes may be texts, or numbers that no double holds: these need only be told apart.
  std::int64_t identity() const;
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
  void clear();
  void set(std::string_view key, const TraceScalar& value);
  void set_argument(std::string_view key, const TraceScalar& value);

 private:
  void set_collective(std::string_view key, const TraceScalar& value);

  bool has_collective_ = false;
};

// The kinds of events that matter: copies and memory sets, kernels and copies, operators of the host.
bool is_copy(const TraceEvent& event);
bool is_kernel(const TraceEvent& event);
bool is_operator(const TraceEvent& event);

// Returns what the host's range is for, if that matters: operators of embeddings by their names in PyTorch and FBGEMM,
// and the annotations of optimizers and backward passes.
std::optional<KinetoTrace::Range::Kind> range_kind(const TraceEvent& event);

// An operator whose shapes are kept: lookups and their backward pass by FBGEMM and PyTorch, all-reduces, the loss.
std::optional<KinetoTrace::Shaped::Kind> shaped_kind(const TraceEvent& event);

// "nccl:all_to_all" of the host: before record_param_comms had arguments, its shapes say what is exchanged.
std::optional<TracedCollective> annotated_collective(const TraceEvent& event);

// Events in two halves, begin and end (phases B and E), made whole: the last one that began on a thread ends first.
class EventHalves {
 public:
  void begin(const TraceEvent& event) { begun_[{event.process, event.thread}].push_back(event); }
  // The whole event that `last` ends; nothing where it began before the trace did.
  std::optional<TraceEvent> end(const TraceEvent& last);
  // Those that never ended, without a duration. None are left behind.
  std::vector<TraceEvent> left();

 private:
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<TraceEvent>> begun_;  // by process and thread
};

}  // namespace shardsim
