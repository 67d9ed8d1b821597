#include "accuracy/measurements/judged_row.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "accuracy/measurements/row_layout.h"
#include "accuracy/measurements/switched_off.h"
#include "base/text.h"
#include "models/collective/fitted_overheads.h"
#include "models/collective/nccl/graph.h"
#include "models/collective/nccl/kept_schedules.h"
#include "topology/spec/network_spec.h"

namespace shardsim {
namespace {

constexpr std::int64_t kMostRanks = 1 << 20;  // more is a slip of the pen, and would fill the memory

// The layout of a row's groups on the cluster: `slots` groups side by side on the same nodes.
struct Lay {
  int nodes, gpus, slots, groups;
  int total_nodes() const { return nodes * ((groups + slots - 1) / slots); }
};

Lay lay_of(const MeasuredRow& row, const std::string& cluster, int available) {
  if (row.gpus_per_node > available) {
    const std::string other =
        fmt::format("Cluster {} has {} in a node; map the system to another one", excerpt(cluster), available);
    throw input_error(
        row.place, fmt::format("{} GPUs per node", row.gpus_per_node),
        row.most_hosts > row.nodes ? other + ". If its hosts have one name, state nodes and gpus_per_node" : other);
  }
  const Lay lay{row.nodes, row.gpus_per_node, available / row.gpus_per_node, row.groups_at_once};
  const std::int64_t ranks = std::int64_t{lay.total_nodes()} * available;
  if (std::int64_t{lay.nodes} * lay.groups > kMostRanks || ranks > kMostRanks) {
    throw input_error(row.place, fmt::format("the groups need {} nodes", lay.total_nodes()),
                      fmt::format("At most {} GPUs are predicted", kMostRanks));
  }
  return lay;
}

std::vector<int> group_ranks(const Lay& lay, int group, int ranks_per_node) {
  std::vector<int> ranks;
  const int first_node = lay.nodes * (group / lay.slots);
  const int first_gpu = lay.gpus * (group % lay.slots);
  for (int node = first_node; node < first_node + lay.nodes; ++node) {
    for (int gpu = first_gpu; gpu < first_gpu + lay.gpus; ++gpu) ranks.push_back(node * ranks_per_node + gpu);
  }
  return ranks;
}

// Ranks of all rows so far: each row may be in reason, and all rows together ask for hours of work.
class RankTally {
 public:
  explicit RankTally(std::int64_t most) : most_(most) {}

  void add(const MeasuredRow& row, const Lay& lay) {
    ranks_ += std::int64_t{lay.nodes} * lay.gpus * lay.groups;
    if (ranks_ > most_)
      throw input_error(row.place, fmt::format("with this row {} ranks are to be predicted, in all rows", ranks_),
                        fmt::format("At most {} are, in one go: give the file in parts", most_));
  }

 private:
  std::int64_t most_, ranks_ = 0;
};

constexpr std::int64_t kMostJudged = 2'000'000;  // seconds of work
constexpr std::int64_t kMostFitted = 500'000;    // half a minute: a fit predicts its rows again and again

// The settings of a run that make its cluster another one, and its prediction.
std::string settings_key(const MeasuredRow& row) {
  std::string channels;  // bounds hold for a group of this shape, on which NCCL's own choice depends
  if (row.least_channels != 0 || row.most_channels != 0)
    channels =
        fmt::format("{} to {} channels, {} x {}", row.least_channels, row.most_channels, row.nodes, row.gpus_per_node);
  return join({row.algorithm, row.protocol, row.without_pxn ? "without PXN" : "",
               std::to_string(row.cross_nic.value_or(-1)), channels},
              "/");
}

// The spec with the channels that NCCL takes within the bounds of the run, where they are not those of its search.
ClusterSpec with_channels(const MeasuredRow& row, ClusterSpec spec) {
  if (row.least_channels == 0 && row.most_channels == 0) return spec;
  const Cluster cluster(spec);
  const Lay lay = lay_of(row, spec.name, spec.gpu.count);
  const NcclGraphs graphs = nccl_graphs(nccl_group(group_ranks(lay, 0, spec.gpu.count), cluster), cluster);
  const int most = row.most_channels > 0 ? row.most_channels : kMostChannels;
  const int taken = std::clamp(graphs.compute_channels, std::min(row.least_channels, most), most);
  if (taken != graphs.compute_channels) spec.forced.channels = taken;
  return spec;
}

// The spec of so many nodes with the settings of a run.
ClusterSpec with_settings(const MeasuredRow& row, int nodes, ClusterSpec spec) {
  spec.nodes = nodes;
  if (!row.algorithm.empty()) spec.forced.algorithm = row.algorithm;
  if (!row.protocol.empty()) spec.forced.protocol = row.protocol;
  if (row.without_pxn) spec.p2p.pxn = false;
  if (row.cross_nic) spec.forced.cross_nic = *row.cross_nic;
  return with_channels(row, std::move(spec));
}

CollectiveQuestion question_of(const MeasuredRow& row, const Lay& lay, const Cluster& cluster) {
  CollectiveQuestion question;
  question.kind = row.kind;
  question.bytes = *row.bytes;
  question.nvls_reduces = nvls_reduces(row.type, row.reduction);
  question.ranks = group_ranks(lay, 0, cluster.ranks_per_node());
  for (int group = 1; group < lay.groups; ++group)
    question.beside.push_back(group_ranks(lay, group, cluster.ranks_per_node()));
  return question;
}

// Rows that ask the same of one cluster.
using SameCall = std::tuple<const Cluster*, CollectiveKind, std::int64_t, int, int, int, bool>;

SameCall same_call(const MeasuredRow& row, const Cluster& cluster) {
  return {&cluster,
          row.kind,
          *row.bytes,
          row.nodes,
          row.gpus_per_node,
          row.groups_at_once,
          nvls_reduces(row.type, row.reduction)};
}

class Judge {
 public:
  Judge(const SystemMap& map, const LeftOutFits& fits) : map_(map), fits_(fits) {}

  JudgedRow judge(const MeasuredRow& measured, const MappedSystem& system) {
    JudgedRow row;
    row.measured = measured;
    row.cluster = system.cluster;
    if (system.spec.fits == open_data_fits().name)
      row.fits = fits_.saw(measured.system) ? FitsUsed::left_out : FitsUsed::open_data;
    row.out_of_model = map_.why_out_of_model(measured);
    if (row.out_of_model.empty()) row.out_of_model = measured.caveat;
    if (row.out_of_model.empty()) row.out_of_model = switched_off(measured, system.spec);
    const Lay lay = lay_of(measured, system.cluster, system.spec.gpu.count);
    ranks_.add(measured, lay);
    const Cluster& cluster = cluster_of(row, system, lay.total_nodes());
    row.network = network_of(cluster.spec(), measured.nodes > 1);
    const auto [known, is_new] = predictions_.try_emplace(same_call(measured, cluster));
    if (is_new) known->second = predict_collective(question_of(measured, lay, cluster), cluster);
    row.prediction = known->second;
    return row;
  }

 private:
  const Cluster& cluster_of(const JudgedRow& row, const MappedSystem& system, int nodes) {
    const std::string key = join({system.label, system.setting, settings_key(row.measured)}, "/");
    std::unique_ptr<Cluster>& cluster = clusters_[{key, nodes}];
    if (!cluster) {
      ClusterSpec spec =
          row.fits == FitsUsed::none ? system.spec : with_fits(system.spec, fits_.table_for(row.measured.system));
      cluster = std::make_unique<Cluster>(with_settings(row.measured, nodes, std::move(spec)));
    }
    return *cluster;
  }

  const SystemMap& map_;
  const LeftOutFits& fits_;
  RankTally ranks_{kMostJudged};
  std::map<std::pair<std::string, int>, std::unique_ptr<Cluster>> clusters_;
  std::map<SameCall, CollectivePrediction> predictions_;
};

}  // namespace

const FitsWords& fits_words(FitsUsed fits) {
  static constexpr std::array<FitsWords, 4> kWords = {
      FitsWords{"none", "nothing", ""}, FitsWords{"open_data", "the open data", ", fitted to the open data"},
      FitsWords{"open_data_without_this_system", "other systems", ", fitted without it"},
      FitsWords{"other_rows_of_this_system", "other rows of it", ", calibrated on other rows of it"}};
  return kWords[static_cast<std::size_t>(fits)];
}

Pair JudgedRow::pair() const {
  Pair pair;
  pair.predicted = predicted().us();
  pair.observed = measured.time->us();
  pair.group = measured.system;
  pair.out_of_model = out_of_model;
  pair.size = static_cast<double>(*measured.bytes);
  pair.kind = collective_kind_name(measured.kind);
  pair.what = fmt::format("{} x {}{}{}", measured.nodes, measured.gpus_per_node, measured.setting.empty() ? "" : ", ",
                          measured.setting);
  pair.how = prediction.algorithm + (prediction.protocol.empty() ? "" : " " + prediction.protocol);
  return pair;
}

void check_rank_count(const ClusterSpec& spec, const std::vector<MeasuredRow>& rows) {
  RankTally ranks(kMostFitted);
  for (const MeasuredRow& row : rows) {
    if (!row.is_of_one_gpu()) ranks.add(row, lay_of(row, spec.name, spec.gpu.count));
  }
}

namespace {

void add_once(std::vector<std::string>& notes, const std::string& note) {
  if (!note.empty() && std::ranges::find(notes, note) == notes.end()) notes.push_back(note);
}

// The systems of some rows that the map lacks, or whose entry is faulty, and the runs that no counts fit, with the
// error of each: it costs the rows of that system or run alone.
class LostRows {
 public:
  // Lays the row out on its system. Returns null where the map has none for it, or its counts do not fit that.
  const MappedSystem* lay_out_on_map(MeasuredRow& row, const SystemsByLabel& systems) {
    const MappedSystem* system = nullptr;
    attempt({row.system, ""}, [&] { system = &systems.of(row); });
    if (system == nullptr) return nullptr;
    const bool fits = attempt({row.system, row.place.source}, [&] { lay_out(row, counts_of(*system), system->spec); });
    return fits ? system : nullptr;
  }

  const std::optional<Error>& first() const { return first_; }

  void tell(std::vector<std::string>& notes) const {
    for (const auto& [of, fault] : faults_)
      notes.push_back(fmt::format("{} of system {} left out: {}",
                                  counted(static_cast<std::size_t>(fault.second), "row"), excerpt(of.first),
                                  fault.first.what()));
  }

 private:
  using Of = std::pair<std::string, std::string>;  // a system, and the file of a run or ""

  // Returns false after a fault. Rows of other faults of the same run are counted with its first one.
  bool attempt(const Of& of, const auto& step) {
    try {
      step();
      return true;
    } catch (const Error& fault) {
      ++faults_.try_emplace(of, fault, 0).first->second.second;
      if (!first_) first_ = fault;
      return false;
    }
  }

  std::map<Of, std::pair<Error, int>> faults_;
  std::optional<Error> first_;
};

// Takes all rows of a log's run out of the model where one of them is faster than the links of the cluster allow: then
// the run was not what it is taken for, and its slower rows say no more than that one.
void doubt_runs_above_links(std::vector<JudgedRow>& rows, const SystemsByLabel& systems,
                            std::vector<std::string>& notes) {
  using Run = std::tuple<std::string, CollectiveKind, int, int>;
  const auto run_of = [](const MeasuredRow& row) {
    return Run{row.place.source, row.kind, row.nodes, row.gpus_per_node};
  };
  std::map<Run, std::string> above;
  for (const JudgedRow& row : rows) {
    if (!row.out_of_model.empty() || above.contains(run_of(row.measured))) continue;
    const std::string why = above_links(row.measured, systems.of(row.measured).spec);
    if (why.empty()) continue;
    above.emplace(run_of(row.measured), why);
    add_once(notes, fmt::format("{}: out of the model: {}", row.measured.place.text(), why));
  }
  for (JudgedRow& row : rows) {
    const auto found = above.find(run_of(row.measured));
    if (row.out_of_model.empty() && found != above.end()) row.out_of_model = found->second;
  }
}

// Takes rows across nodes out of the model where `collective predict` claims no accuracy for the network either.
void doubt_networks(std::vector<JudgedRow>& rows, const SystemsByLabel& systems, std::vector<std::string>& notes) {
  for (JudgedRow& row : rows) {
    if (!row.out_of_model.empty() || row.measured.nodes < 2) continue;
    const std::string network = unclaimed_network(systems.of(row.measured).spec);
    if (network.empty()) continue;
    row.out_of_model = network + " network";
    add_once(notes, fmt::format("system {}: rows between nodes are out of the model: no accuracy is claimed for {}",
                                excerpt(row.measured.system), network));
  }
}

JudgedRows judge_on_map(const std::vector<MeasuredRow>& rows, const SystemMap& map, const LeftOutFits& fits,
                        const SystemsByLabel& systems) {
  Judge judge(map, fits);
  JudgedRows result;
  LostRows lost;
  for (MeasuredRow row : rows) {
    if (!row.is_complete()) {
      ++result.incomplete;
      continue;
    }
    const MappedSystem* const system = lost.lay_out_on_map(row, systems);
    if (system == nullptr) continue;
    if (row.is_of_one_gpu()) {
      ++result.of_one_gpu;
      continue;
    }
    result.rows.push_back(judge.judge(row, *system));
    if (const std::string off = switched_off(row, system->spec); !off.empty())
      add_once(result.notes, fmt::format("{}: out of the model: {}", row.place.source, off));
    if (const std::string other = other_gpu(row, system->spec); !other.empty())
      add_once(result.notes, fmt::format("{}: {}", row.place.source, other));
  }
  if (result.rows.empty() && lost.first()) throw Error(*lost.first());
  doubt_runs_above_links(result.rows, systems, result.notes);
  lost.tell(result.notes);
  for (const auto& [label, fault] : map.faulty)
    add_once(result.notes, fmt::format("system {} of the map cannot be used: {}", excerpt(label), fault.what()));
  return result;
}

}  // namespace

JudgedRows judge(const std::vector<MeasuredRow>& rows, const SystemMap& map, const LeftOutFits& fits) {
  const SystemsByLabel systems(map);
  JudgedRows result = judge_on_map(rows, map, fits, systems);
  doubt_networks(result.rows, systems, result.notes);
  return result;
}

// Whatever the network is: a fit is judged by its own rows.
std::vector<JudgedRow> judged_on(const ClusterSpec& spec, const std::vector<MeasuredRow>& rows) {
  if (rows.empty()) return {};
  SystemMap map;
  map.systems.push_back({rows.front().system, spec.name, spec, spec.nodes, spec.gpu.count});
  return judge_on_map(rows, map, LeftOutFits{}, SystemsByLabel(map)).rows;
}

struct RepeatedPrediction::Calls {
  struct Machine {
    Cluster cluster;
    KeptSchedules kept;
  };
  struct Call {
    CollectiveQuestion question;
    Machine* machine;
  };
  struct Row {
    std::size_t call;
    double calls, measured;  // s
  };

  Calls(const ClusterSpec& spec, const std::vector<MeasuredRow>& measured) {
    std::map<SameCall, std::size_t> known;
    for (const MeasuredRow& row : measured) {
      if (row.is_of_one_gpu()) continue;
      const Lay lay = lay_of(row, spec.name, spec.gpu.count);
      Machine& machine = machine_of(row, lay.total_nodes(), spec);
      const auto [call, is_new] = known.try_emplace(same_call(row, machine.cluster), calls.size());
      if (is_new) calls.push_back({question_of(row, lay, machine.cluster), &machine});
      rows.push_back({call->second, static_cast<double>(row.calls), row.time->value});
    }
  }

  Machine& machine_of(const MeasuredRow& row, int nodes, const ClusterSpec& spec) {
    std::unique_ptr<Machine>& machine = machines[{settings_key(row), nodes}];
    if (!machine) machine = std::make_unique<Machine>(Machine{Cluster(with_settings(row, nodes, spec)), {}});
    return *machine;
  }

  std::map<std::pair<std::string, int>, std::unique_ptr<Machine>> machines;
  std::vector<Call> calls;
  std::vector<Row> rows;
};

RepeatedPrediction::RepeatedPrediction(const ClusterSpec& spec, const std::vector<MeasuredRow>& rows)
    : calls_(std::make_unique<Calls>(spec, rows)) {}

RepeatedPrediction::~RepeatedPrediction() = default;

std::vector<double> RepeatedPrediction::misses(const ClusterSpec& spec) const {
  for (const auto& [key, machine] : calls_->machines) machine->cluster.take_overheads(spec);
  std::vector<Seconds> times;
  for (const Calls::Call& call : calls_->calls)
    times.push_back(predicted_time(call.question, call.machine->cluster, call.machine->kept));
  std::vector<double> misses;
  for (const Calls::Row& row : calls_->rows)
    misses.push_back(std::log((row.calls * times[row.call]).value / row.measured));
  return misses;
}

}  // namespace shardsim
