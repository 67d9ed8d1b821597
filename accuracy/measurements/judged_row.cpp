#include "accuracy/measurements/judged_row.h"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <string>

#include "base/text.h"

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
    throw input_error(
        row.place, fmt::format("{} GPUs per node", row.gpus_per_node),
        fmt::format("Cluster {} has {} in a node; map the system to another one", excerpt(cluster), available));
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

// Logs may leave to the map what they do not say.
void complete(MeasuredRow& row, const MappedSystem& system) {
  row.fill_in(system.nodes, system.gpus_per_node);
  if (row.nodes > 0 && row.gpus_per_node > 0) return;
  throw input_error(row.place, "the output does not say on how many nodes and GPUs it ran",
                    fmt::format("Add nodes and gpus_per_node to system {} of the map", excerpt(row.system)));
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
    const Lay lay = lay_of(measured, system.cluster, system.spec.gpu.count);
    ranks_.add(measured, lay);
    const Cluster& cluster = cluster_of(row, system, lay.total_nodes());
    row.network = network_of(cluster.spec(), measured.nodes > 1);
    CollectiveQuestion question;
    question.kind = measured.kind;
    question.bytes = *measured.bytes;
    question.ranks = group_ranks(lay, 0, cluster.ranks_per_node());
    for (int group = 1; group < lay.groups; ++group)
      question.beside.push_back(group_ranks(lay, group, cluster.ranks_per_node()));
    row.prediction = predict_collective(question, cluster);
    return row;
  }

 private:
  const Cluster& cluster_of(const JudgedRow& row, const MappedSystem& system, int nodes) {
    std::unique_ptr<Cluster>& cluster = clusters_[{system.label + "/" + system.setting, nodes}];
    if (!cluster) {
      ClusterSpec spec =
          row.fits == FitsUsed::none ? system.spec : with_fits(system.spec, fits_.table_for(row.measured.system));
      spec.nodes = nodes;
      cluster = std::make_unique<Cluster>(std::move(spec));
    }
    return *cluster;
  }

  const SystemMap& map_;
  const LeftOutFits& fits_;
  RankTally ranks_{kMostJudged};
  std::map<std::pair<std::string, int>, std::unique_ptr<Cluster>> clusters_;
};

}  // namespace

const FitsWords& words_of(FitsUsed fits) {
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

std::vector<JudgedRow> judged_on(const ClusterSpec& spec, const std::vector<MeasuredRow>& rows) {
  if (rows.empty()) return {};
  SystemMap map;
  map.systems.push_back({rows.front().system, spec.name, spec, spec.nodes, spec.gpu.count});
  return judge(rows, map, LeftOutFits{}).rows;
}

JudgedRows judge(const std::vector<MeasuredRow>& rows, const SystemMap& map, const LeftOutFits& fits) {
  Judge judge(map, fits);
  JudgedRows result;
  for (MeasuredRow row : rows) {
    if (!row.is_complete()) {
      ++result.incomplete;
      continue;
    }
    const MappedSystem& system = map.system_of(row);
    complete(row, system);
    if (row.is_of_one_gpu()) {
      ++result.of_one_gpu;
    } else {
      result.rows.push_back(judge.judge(row, system));
    }
  }
  return result;
}

}  // namespace shardsim
