#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "program/timeline/kineto/kineto.h"
#include "program/timeline/kineto/kineto_names.h"
#include "program/timeline/kineto/step_windows.h"
#include "program/timeline/named_times.h"
#include "topology/spec/cluster_spec.h"

namespace shardsim {
namespace {

namespace fs = std::filesystem;

// For communication that is none of our kinds (a rooted reduce, a scatter).
constexpr std::int64_t kMostAhead = 16;  // iterations that one may overlap
constexpr const char* kOtherCommunication = "send_recv";

class TimelineBuilder {
 public:
  TimelineBuilder(std::vector<KinetoTrace> traces, std::string source)
      : traces_(std::move(traces)), source_(std::move(source)) {}

  ObservedTraces build() {
    find_ranks();
    find_streams();
    for (const KinetoTrace& trace : traces_) {
      const KinetoRank rank(trace);
      check(trace, rank);
      add_kernels(trace, rank);
    }
    join_rests();
    find_groups();
    if (timeline_.spans.empty())
      throw input_error({source_}, "no GPU kernel lies in a profiled step",
                        "Profile with ProfilerActivity.CUDA and a schedule with active steps");
    keep_common_iterations();
    align_clocks();
    set_origin();
    describe();
    sort_spans(timeline_);
    if (const std::string wrong = timeline_fault(timeline_).text; !wrong.empty())
      throw input_error({source_}, wrong, "Give the traces as the profiler wrote them");
    return {std::move(timeline_), std::move(notes_), std::move(steps_ms_)};
  }

 private:
  void find_ranks() {
    for (KinetoTrace& trace : traces_) {
      if (!trace.rank) trace.rank = rank_in_name(trace.path);
      if (!trace.rank && traces_.size() == 1) trace.rank = 0;
      if (!trace.rank || *trace.rank < 0 || *trace.rank >= kMostRanks)
        throw input_error({trace.path}, "no rank: neither distributedInfo nor the file's name says one",
                          "Name it rankN.json");
    }
    std::sort(traces_.begin(), traces_.end(), [](const auto& a, const auto& b) { return *a.rank < *b.rank; });
    for (std::size_t i = 1; i < traces_.size(); ++i)
      if (*traces_[i].rank == *traces_[i - 1].rank)
        throw input_error({traces_[i].path},
                          fmt::format("rank {}, as {} is too", *traces_[i].rank, traces_[i - 1].path),
                          "Give the traces of one run, one per rank");
    find_world();
  }

  void find_world() {
    std::int64_t world = *traces_.back().rank + 1;
    for (const KinetoTrace& trace : traces_)
      if (trace.world_size && *trace.world_size > 0 && *trace.world_size <= kMostRanks)
        world = std::max(world, *trace.world_size);
    for (const KinetoTrace& trace : traces_)
      if (trace.world_size && *trace.world_size != world)
        throw input_error({trace.path},
                          fmt::format("a world of {} ranks, where the others say {}", *trace.world_size, world),
                          "Give the traces of one run");
    timeline_.world_size = static_cast<int>(world);
    if (world > static_cast<std::int64_t>(traces_.size()))
      notes_.push_back(fmt::format("traces of {} of {} ranks", traces_.size(), world));
  }

  void find_streams() {
    std::map<std::int64_t, std::string> names;
    for (const KinetoTrace& trace : traces_) {
      names.insert(trace.stream_names.begin(), trace.stream_names.end());
      for (const KinetoTrace::Kernel& kernel : trace.kernels)
        names.try_emplace(kernel.stream, fmt::format("stream {}", kernel.stream));
    }
    for (const auto& [id, name] : names) {
      stream_of_[id] = static_cast<int>(timeline_.streams.size());
      timeline_.streams.push_back(name);
    }
  }

  // A trace that import refuses is no better an observation. The steps of a single rank count as they do there; with
  // several ranks, a step of one may not be one of another.
  void check(const KinetoTrace& trace, const KinetoRank& rank) {
    if (trace.of_timeline()) return;
    check_one_rank(trace);
    repeated_ += trace.repeated;
    const std::optional<StepWindows> steps = whole_steps(trace, rank);
    if (!steps) return;
    for (const std::string& note : steps->notes) notes_.push_back(of_rank(trace, note));
    if (const StepWindow& step = steps->median(); step.lost > 0)
      notes_.push_back(of_rank(trace, "of" + step.lost_text("the median step")));
    if (traces_.size() > 1) return;
    for (const StepWindow& step : steps->kept) steps_us_[step.number] = step.us();
    if (steps->left_out > 0)
      notes_.push_back(fmt::format("{} of {} steps left out: warm-up, pauses, or without all of their kernels",
                                   steps->left_out, steps->left_out + std::ssize(steps->kept)));
  }

  std::string of_rank(const KinetoTrace& trace, std::string note) const {
    if (note.ends_with('.')) note.pop_back();
    return traces_.size() > 1 ? fmt::format("rank {}: {}", *trace.rank, note) : note;
  }

  void add_kernels(const KinetoTrace& trace, const KinetoRank& rank) {
    // Traces of one run may count from different moments.
    const double offset_us = static_cast<double>(trace.base_ns - traces_.front().base_ns) * 1e-3;
    broken_ += trace.broken_events;
    for (const KinetoTrace::Kernel& kernel : trace.kernels) {
      const std::optional<KinetoTrace::Step> step = rank.step_of(kernel);
      if (!step) {
        ++outside_steps_;
        continue;
      }
      if (!steps_us_.empty() && !steps_us_.contains(step->number)) continue;
      const TracedCollective collective = rank.communicates(kernel) ? rank.collective_of(kernel) : TracedCollective{};
      const std::int64_t ahead = std::clamp<std::int64_t>(kernel.ahead, -kMostAhead, kMostAhead);
      const double start_us = kernel.start_us + offset_us - static_cast<double>(ahead) * step->iteration_ms * 1e3;
      const Span span{start_us,
                      start_us + kernel.duration_us,
                      static_cast<int>(*trace.rank),
                      stream_of_.at(kernel.stream),
                      op_of(described(kernel, collective, rank), collective, static_cast<int>(*trace.rank)),
                      step->number,
                      rank.communicates(kernel) ? bytes_of(collective) : 0};
      (kernel.continued ? rests_ : timeline_.spans).push_back(span);
      if (step->iteration_ms > 0) iterations_ms_.insert(step->iteration_ms);
      devices_ = std::max(devices_, kernel.device + 1);
    }
  }

  static std::int64_t bytes_of(const TracedCollective& collective) {
    const std::int64_t elements = std::max(collective.in_elements, collective.out_elements);
    const std::int64_t bytes = element_of_torch(collective.dtype).bytes;
    return elements > 0 && elements < std::numeric_limits<std::int64_t>::max() / bytes ? elements * bytes : 0;
  }

  Timeline::OpInfo described(const KinetoTrace::Kernel& kernel, const TracedCollective& collective,
                             const KinetoRank& traced) {
    Timeline::OpInfo op;
    const bool communicates = traced.communicates(kernel);
    op.op_class = communicates ? class_of(kernel, collective) : traced.class_of(kernel);
    // A class that a trace of ours may name; those of others have none.
    const bool ours = communicates ? is_communication(kernel.operation_class) : is_compute(kernel.operation_class);
    if (ours) op.op_class = kernel.operation_class;
    op.name = !kernel.operation.empty() ? std::string(kernel.operation)
              : collective.known()      ? collective.name
              : communicates            ? op.op_class
                                        : compute_name(kernel, op.op_class, traced);
    if (kernel.copies) op.name = copy_name(kernel.name);
    if (communicates && kernel.operation.empty() && op.op_class == "all_to_all")
      op.name = exchange_name(op.name, kernel, collective, traced);
    op.group = collective.group;
    op.dtype = element_of_torch(collective.dtype).dtype;
    return op;
  }

  // The parts of the dense part have their names of the Program, where the host's ranges tell them apart.
  static std::string compute_name(const KinetoTrace::Kernel& kernel, const std::string& op_class,
                                  const KinetoRank& traced) {
    using Kind = KinetoTrace::Range::Kind;
    if (op_class != "dense" || !traced.has(Kind::backward)) return op_class;
    if (traced.within(kernel, Kind::optimizer)) return "dense_optimizer_step";
    return traced.within(kernel, Kind::backward) ? "dense_backward" : "dense_forward";
  }

  // Whole numbers are ids, and what the backward pass exchanges are gradients.
  static std::string exchange_name(const std::string& name, const KinetoTrace::Kernel& kernel,
                                   const TracedCollective& collective, const KinetoRank& traced) {
    if (collective.dtype == "Long" || collective.dtype == "Int") return "input_all_to_all";
    return traced.within(kernel, KinetoTrace::Range::Kind::backward) ? name + "_grads" : name;
  }

  // The copy of a batch has its name of the Program.
  static std::string copy_name(std::string_view kernel) {
    if (kernel.find("HtoD") != std::string_view::npos) return "h2d_copy";
    return kernel.starts_with("Memset") ? "memset" : "copy";
  }

  std::string class_of(const KinetoTrace::Kernel& kernel, const TracedCollective& collective) {
    const std::string name = collective.known() ? collective.name : std::string(kernel.name);
    const std::string op_class = collective_class(name);
    if (op_class.empty()) unknown_.insert(name);
    return op_class.empty() ? kOtherCommunication : op_class;
  }

  // The rest of a span that a window had cut goes back to it; where it is missing, the rest is all there is.
  void join_rests() {
    constexpr double kWithinUs = 2;  // times may be rounded to whole microseconds
    std::sort(rests_.begin(), rests_.end(), [](const Span& a, const Span& b) { return a.start_us < b.start_us; });
    for (const Span& rest : rests_) {
      Span* first = nullptr;
      for (Span& span : timeline_.spans) {
        const bool alike = std::tie(span.rank, span.stream, span.op, span.iteration) ==
                           std::tie(rest.rank, rest.stream, rest.op, rest.iteration);
        if (alike && std::abs(span.end_us - rest.start_us) <= kWithinUs) first = &span;
      }
      if (first == nullptr) {
        timeline_.spans.push_back(rest);
      } else {
        first->end_us += rest.end_us - rest.start_us;
      }
    }
  }

  int op_of(const Timeline::OpInfo& op, const TracedCollective& collective, int rank) {
    const auto [entry, fresh] =
        op_index_.try_emplace({op.name, op.op_class, op.group, op.dtype}, static_cast<int>(timeline_.ops.size()));
    if (fresh) timeline_.ops.push_back(op);
    if (!collective.group.empty()) labels_[{collective.group, collective.group_ranks}].add(rank, collective);
    return entry->second;
  }

  // Who the members of a rank set are: those that are listed, or, where the list was cut, the ranks that named it, when
  // all did.
  void find_groups() {
    for (const auto& [label, ranks] : labels_) {
      std::vector<int> members = members_in(label.second, timeline_.world_size);
      if (members.empty() && static_cast<std::int64_t>(ranks.named_by.size()) == ranks.size)
        members.assign(ranks.named_by.begin(), ranks.named_by.end());
      if (!members.empty()) timeline_.groups[label.first].push_back(members);
    }
    for (auto& [name, sets] : timeline_.groups) std::sort(sets.begin(), sets.end());
  }

  void keep_common_iterations() {
    std::map<int, std::set<int>> ranks_of;
    for (const Span& span : timeline_.spans) ranks_of[span.iteration].insert(span.rank);
    const std::size_t before = ranks_of.size();
    std::erase_if(ranks_of, [&](const auto& entry) { return entry.second.size() < traces_.size(); });
    if (ranks_of.empty())
      throw input_error({source_}, "no step has GPU kernels on every rank", "Give the traces of one run");
    if (before > ranks_of.size())
      notes_.push_back(
          fmt::format("{} of {} steps are left out: some rank ran nothing in them", before - ranks_of.size(), before));
    std::erase_if(timeline_.spans, [&](const Span& span) { return !ranks_of.contains(span.iteration); });
    for (const auto& [number, ranks] : ranks_of)
      if (const auto step = steps_us_.find(number); step != steps_us_.end()) steps_ms_.push_back(step->second * 1e-3);
    first_iteration_ = ranks_of.begin()->first;
    timeline_.iterations_run = static_cast<int>(ranks_of.size());
  }

  // [rank] The end of the first iteration's last collective; without one, the rank's first start.
  std::map<int, double> clock_marks(const std::map<int, Extent>& extents) const {
    std::map<int, double> marks;
    for (const Span& span : timeline_.spans) {
      if (span.iteration != first_iteration_) continue;
      if (!is_communication(timeline_.ops[static_cast<std::size_t>(span.op)].op_class)) continue;
      const auto [mark, fresh] = marks.try_emplace(span.rank, span.end_us);
      mark->second = std::max(mark->second, span.end_us);
    }
    for (const auto& [rank, extent] : extents) marks.try_emplace(rank, extent.first_us);
    return marks;
  }

  // Ranks that train together are never an iteration apart: then their clocks are.
  void align_clocks() {
    const std::map<int, Extent> of_rank = extents_by(timeline_, &Span::rank);
    double least = std::numeric_limits<double>::infinity(), most = -least, length = 0;
    for (const auto& [rank, extent] : of_rank) {
      least = std::min(least, extent.first_us);
      most = std::max(most, extent.first_us);
      length = std::max(length, (extent.last_us - extent.first_us) / std::max(1, timeline_.iterations_run));
    }
    if (most - least <= length) return;
    const std::map<int, double> marks = clock_marks(of_rank);
    const double reference = marks.begin()->second;
    for (Span& span : timeline_.spans) {
      const double shift = reference - marks.at(span.rank);
      span.start_us += shift;
      span.end_us += shift;
    }
    notes_.push_back(
        fmt::format("the clocks of the ranks differ by up to {:.3g} ms; they were aligned by the end of the last "
                    "collective of the first step",
                    (most - least) * 1e-3));
  }

  void set_origin() {
    double first = std::numeric_limits<double>::infinity();
    for (const Span& span : timeline_.spans) first = std::min(first, span.start_us);
    for (Span& span : timeline_.spans) {
      span.start_us -= first;
      span.end_us -= first;
    }
  }

  void describe() {
    timeline_.kind = "observed";
    if (!iterations_ms_.empty()) timeline_.iteration_ms = *iterations_ms_.rbegin();
    if (iterations_ms_.size() > 1)
      notes_.push_back(fmt::format("the traces state iterations of {} to {} ms; the longest is taken",
                                   *iterations_ms_.begin(), *iterations_ms_.rbegin()));
    if (devices_ > 0 && timeline_.world_size % devices_ == 0) timeline_.ranks_per_node = static_cast<int>(devices_);
    timeline_.measured.device = traces_.front().device;
    timeline_.measured.nccl = traces_.front().nccl;
    timeline_.measured.transport = traces_.front().backend;
    if (broken_ > 0)
      notes_.push_back(fmt::format("{} GPU kernels without a start or a duration are left out", broken_));
    if (repeated_ > 0)
      notes_.push_back(
          fmt::format("{} events of the GPU are in the traces more than once; each counts once", repeated_));
    if (outside_steps_ > 0)
      notes_.push_back(
          fmt::format("{} GPU kernels were launched outside the profiled steps and are left out", outside_steps_));
    if (!unknown_.empty())
      notes_.push_back(fmt::format("communication of an unknown kind is counted as {}: {}", kOtherCommunication,
                                   join({unknown_.begin(), unknown_.end()})));
  }

  std::vector<KinetoTrace> traces_;
  std::string source_;
  Timeline timeline_;
  std::vector<std::string> notes_;
  std::map<std::int64_t, int> stream_of_;
  std::map<std::tuple<std::string, std::string, std::string, std::string>, int> op_index_;
  struct LabelRanks {
    std::set<int> named_by;
    std::int64_t size = 0;  // 0: not said
    void add(int rank, const TracedCollective& collective) {
      named_by.insert(rank);
      size = collective.group_size;
    }
  };
  std::map<std::pair<std::string, std::string>, LabelRanks> labels_;  // by group and list of ranks
  std::vector<Span> rests_;                                           // of spans that began before their step
  std::set<std::string> unknown_;
  std::map<int, double> steps_us_;  // by number; none: all count, and are as long as their spans
  std::vector<double> steps_ms_;    // of those that are kept
  std::int64_t broken_ = 0, outside_steps_ = 0, devices_ = 0, repeated_ = 0;
  std::set<double> iterations_ms_;  // that the steps of our own traces state
  int first_iteration_ = 0;
};

std::vector<fs::path> trace_files(const fs::path& folder) {
  if (is_file(folder)) return {folder};
  std::error_code failed;
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder, failed)) {
    const fs::path& path = entry.path();
    if (entry.is_regular_file(failed) && (path.extension() == ".json" || path.extension() == ".gz"))
      files.push_back(path);
  }
  if (files.empty())
    throw input_error({folder.string()},
                      is_folder(folder) ? "holds no trace (*.json, *.json.gz)" : "there is no such file or folder",
                      "Name a Kineto trace, or a folder of them, one per rank");
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

ObservedTraces timeline_from_traces(std::vector<KinetoTrace> traces, const std::string& source) {
  return TimelineBuilder(std::move(traces), source).build();
}

ObservedTraces read_kineto_traces(const fs::path& folder) {
  std::vector<KinetoTrace> traces;
  for (const fs::path& path : trace_files(folder)) traces.push_back(read_kineto_trace(path));
  return timeline_from_traces(std::move(traces), folder.string());
}

}  // namespace shardsim
