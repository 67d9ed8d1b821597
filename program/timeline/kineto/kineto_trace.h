#pragma once

#include <cstdint>
#include <filesystem>
#include <istream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace shardsim {

// The arguments of a collective, as its kernel or its record_param_comms holds them; any may be missing.
struct TracedCollective {
  std::string name;   // "Collective name"
  std::string dtype;  // as PyTorch writes it
  std::int64_t in_elements = 0, out_elements = 0;
  std::string group;        // "Process Group Name"
  std::string group_ranks;  // "[0, 1]"; Kineto cuts it after 30
  std::int64_t group_size = 0;
  bool known() const { return !name.empty(); }
};

// The part of one Kineto trace that a Timeline is made of. Times in us on the trace's own clock.
struct KinetoTrace {
  // There may be millions of them: texts are in `names`, one for all that are equal.
  struct Kernel {
    double start_us = 0, duration_us = 0;
    std::int64_t device = 0, stream = 0;
    std::int64_t correlation = -1, external_id = -1;
    std::string_view name;
    // In traces of ours: the operation's own name and class, how many iterations after its step's it belongs to, and
    // whether it is the rest of a span that began before the step.
    std::string_view operation, operation_class;
    std::int32_t ahead = 0;
    bool continued = false;
    bool copies = false;  // a copy or a memory set: no kernel, on its stream all the same
    std::shared_ptr<const TracedCollective> collective{};  // none where its arguments say nothing
  };
  // Host ranges that say what the kernels launched within them are for. `launches`: an operator that never runs without
  // a kernel on a GPU.
  struct Range {
    enum class Kind { lookup, update, optimizer, backward, indexed_add, launches };
    Kind kind = Kind::optimizer;
    double start_us = 0, end_us = 0;
    std::int64_t thread = 0;
  };
  struct Step {
    int number = 0;  // ProfilerStep#NUMBER
    double start_us = 0, end_us = 0;
    double iteration_ms = 0;  // in traces of ours: its exact length
    std::int64_t process = 0;
  };
  struct Launch {
    double start_us = 0;
    std::int64_t thread = 0, process = 0;
    bool graph = false;   // of a CUDA graph, which is many kernels
    bool kernel = false;  // of one kernel, and of no copy
  };
  // An operator of the host whose shapes say something of the model, where the profiler recorded them (record_shapes).
  struct Shaped {
    enum class Kind { tables, bag, sequence, tables_gradient, reduced, loss };
    Kind kind = Kind::loss;
    double start_us = 0;
    std::vector<std::vector<std::int64_t>> dims;  // of each input
    bool half = false;                            // rows are of 16 bits
  };
  struct Comms {  // a record_param_comms of the host
    double start_us = 0, end_us = 0;
    std::int64_t thread = 0, external_id = -1;
    TracedCollective collective;
  };

  std::shared_ptr<std::unordered_set<std::string>> names = std::make_shared<std::unordered_set<std::string>>();
  std::string path;
  bool has_events = false;  // the key traceEvents, or a list at the top
  bool merged = false;      // of several ranks (merged_trace.h)
  std::optional<std::int64_t> rank, world_size;
  std::string device, nccl, backend;
  std::int64_t device_memory = 0;  // bytes; 0: not said
  std::int64_t base_ns = 0;        // what `ts` counts from
  std::vector<Kernel> kernels;
  std::vector<Step> steps;
  std::unordered_map<std::int64_t, Launch> launches;  // by correlation
  std::vector<Comms> comms;
  std::vector<Range> ranges;
  std::map<std::int64_t, std::vector<std::pair<double, double>>> operators;  // by thread: from and to, outer ones alone
  std::vector<Shaped> shaped;
  std::map<std::int64_t, std::string> stream_names;
  std::int64_t broken_events = 0;   // of the GPU, without a start or a duration of 0 or more, left out
  std::int64_t broken_kernels = 0;  // those of them that are no copies
  std::int64_t repeated = 0;        // of the GPU, that are in the file once more, left out
  std::string other_platform = {};  // that its events are of; "" for CUDA
  // True of traces that `run --trace` and its like write.
  bool of_timeline() const;
};

// Reads event by event: a trace of gigabytes costs the memory of its kernels. A path may be of a file that gzip has
// packed. Unknown keys are ignored, as in every format that is not ours. Errors: Failure::input naming file and line
// for what is no JSON (a trace cut off, say), and what was read before; a trace of ROCm or of another
// platform than CUDA, whose kernels are not known.
KinetoTrace read_kineto_trace(std::istream& in, const std::string& path);
KinetoTrace read_kineto_trace(const std::filesystem::path& path);

// Refuses a trace that is none of one rank of a training. Errors (Failure::input, naming the file): kernels of
// several devices, launches of several processes, times in another unit, a rank that is not in its world. Traces of
// ours have none.
void check_one_rank(const KinetoTrace& trace);

// The number behind the last "rank" of a file's name.
std::optional<std::int64_t> rank_in_name(const std::string& path);

// The ranks in "[0, 1]"; none when the list was cut, or names a rank outside the world.
std::vector<int> members_in(const std::string& text, int world_size);

// One rank's trace: which iteration a kernel belongs to, and which collective it carries out. The trace outlives it.
class KinetoRank {
 public:
  explicit KinetoRank(const KinetoTrace& trace);

  // The step that launched it; one of number 0 in a trace without steps; nothing outside all steps.
  std::optional<KinetoTrace::Step> step_of(const KinetoTrace::Kernel& kernel) const;

  // The class of its work: as compute_class() of its name, unless the operator that launched it says better. Copies are
  // dense.
  std::string class_of(const KinetoTrace::Kernel& kernel) const;
  // True of NCCL's.
  bool communicates(const KinetoTrace::Kernel& kernel) const { return meaning(kernel).communicates; }
  // True when the trace has ranges of that kind.
  bool has(KinetoTrace::Range::Kind kind) const { return ranges_.contains(kind); }
  // True when it was launched within an operator or a range of the host.
  bool has_operator(const KinetoTrace::Kernel& kernel) const;
  // True when it was launched within a range of that kind.
  bool within(const KinetoTrace::Kernel& kernel, KinetoTrace::Range::Kind kind) const;
  // The thread that launched it; -1 where that is not known.
  std::int64_t thread_of(const KinetoTrace::Kernel& kernel) const;
  double launch_us(const KinetoTrace::Kernel& kernel) const;

  // Its own arguments, else those of the record_param_comms that launched it: by id, or by time on the same thread.
  TracedCollective collective_of(const KinetoTrace::Kernel& kernel) const;

 private:
  struct Meaning {
    std::string op_class;  // by compute_class()
    bool communicates = false;
  };
  const Meaning& meaning(const KinetoTrace::Kernel& kernel) const;
  void join_operators();

  const KinetoTrace& trace_;
  mutable std::unordered_map<const char*, Meaning> meanings_;  // by name, of which there is one for all that are equal
  std::map<KinetoTrace::Range::Kind, std::vector<KinetoTrace::Range>> ranges_;  // by start
  std::map<std::int64_t, std::vector<std::pair<double, double>>> operators_;    // by start, disjoint
  std::vector<KinetoTrace::Step> steps_;
  std::vector<KinetoTrace::Comms> comms_;
  std::map<std::int64_t, const KinetoTrace::Comms*> by_id_;
};

}  // namespace shardsim
