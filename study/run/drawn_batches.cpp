#include "study/run/drawn_batches.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/statistics.h"
#include "program/timeline/named_times.h"
#include "sim/engine/iteration_chain.h"
#include "sim/lower/draws/drawn_batch.h"
#include "sim/lower/draws/row_draws.h"
#include "sim/memory/buffers.h"

namespace shardsim {
namespace {

// Lookups of the fullest rank over those of the mean one.
double fullest_times_mean(const Program& program) {
  std::vector<double> lookups(static_cast<std::size_t>(program.world_size), 0.0);
  for (const Op& op : program.ops) {
    if (op.op_class != OpClass::lookup) continue;
    const std::vector<int> ranks = program.ranks_of(op);
    for (std::size_t i = 0; i < ranks.size(); ++i) lookups[static_cast<std::size_t>(ranks[i])] += op.lookups.at(i);
  }
  const double average = mean(lookups);
  return average > 0 ? std::ranges::max(lookups) / average : 1;
}

// Values of one figure after the other, an iteration at a time.
using Figures = std::map<std::string, std::vector<double>>;

void add_times(Figures& figures, const Timeline& timeline) {
  RankTimes mean;
  const std::vector<RankTimes> ranks = rank_times(timeline);
  for (const RankTimes& rank : ranks) {
    mean.compute_ms += rank.compute_ms / static_cast<double>(ranks.size());
    mean.exposed_ms += rank.exposed_ms / static_cast<double>(ranks.size());
    mean.waiting_ms += rank.waiting_ms / static_cast<double>(ranks.size());
  }
  figures["compute_ms"].push_back(mean.compute_ms);
  figures["exposed_ms"].push_back(mean.exposed_ms);
  figures["waiting_ms"].push_back(mean.waiting_ms);
  figures["idle_ms"].push_back(std::max(0.0, timeline.iteration_ms - mean.compute_ms - mean.exposed_ms));
  for (const NamedTime& time : named_times(timeline)) {
    if (is_host(time.op_class)) continue;
    if (!is_communication(time.op_class)) {
      figures["compute." + time.name + ".total_ms"].push_back(time.span_ms);
      continue;
    }
    const std::string key = "collectives." + time.name;
    figures[key + ".total_ms"].push_back(time.alone_ms);
    figures[key + ".exposed_ms"].push_back(time.exposed_ms);
    figures[key + ".bytes_per_rank"].push_back(static_cast<double>(time.bytes_per_rank));
    figures[key + ".in_iteration_ms"].push_back(time.span_ms);
    figures[key + ".transfer_ms"].push_back(time.transfer_ms());
    figures[key + ".waiting_ms"].push_back(time.waiting_ms);
  }
}

void raise(MemoryProfile& highest, const MemoryProfile& profile) {
  if (highest.ranks.empty()) highest = profile;
  for (std::size_t rank = 0; rank < highest.ranks.size(); ++rank) {
    if (profile.ranks[rank].bytes() > highest.ranks[rank].bytes()) highest.ranks[rank] = profile.ranks[rank];
  }
}

// One chain of a case. The work of each iteration is kept, but not its Program, whose matrices are large.
class DrawnRun {
 public:
  DrawnRun(const PreparedCase& prepared, bool observed_payload)
      : prepared_(prepared),
        programs_(prepared.plan, prepared.item.workload, prepared.cluster, prepared.placed_options(observed_payload)),
        operations_(programs_.at(0)) {
    const std::int64_t iterations = kIterationsBefore + prepared.item.load.iterations;
    for (std::int64_t iteration = 0; iteration < iterations; ++iteration) {
      const Program program = programs_.at(iteration);
      works_.push_back(prepared.works(program));
      if (iteration < kIterationsBefore) continue;
      buffers_.push_back(buffers_of(program, prepared.item.workload));
      values_["rank_loads.fullest_times_mean"].push_back(fullest_times_mean(program));
    }
  }

  DrawnSimulation simulate() {
    DrawnSimulation done;
    for (const double ms :
         iterations_ms(IterationChain(operations_, prepared_.cluster, works_, *ResolvedCase::uncontended()))) {
      values_["estimate.iteration_ms"].push_back(ms);
    }
    done.estimate_ms = mean(values_["estimate.iteration_ms"]);
    const auto network = prepared_.network();
    const IterationChain chain(operations_, prepared_.cluster, works_, *network);
    done.figures.seed = prepared_.item.load.seed;
    done.figures.iterations_ms = iterations_ms(chain);
    done.figures.iteration_ms = iteration_spread(done.figures.iterations_ms);
    for (std::size_t iteration = kIterationsBefore; iteration < works_.size(); ++iteration) {
      add_iteration(chain.result(iteration, operations_), buffers_[iteration - kIterationsBefore], done.memory);
    }
    for (const auto& [name, values] : values_) done.figures.figures[name] = iteration_spread(values);
    done.figures.figures["samples_per_s"].mean = samples() / (done.figures.iteration_ms.mean * 1e-3);
    done.figures.kept = nearest_to_median(done.figures);
    const auto kept = static_cast<std::size_t>(done.figures.kept);
    const Program own = programs_.at(done.figures.kept);
    done.nearest = chain.result(kept, own);
    done.nearest.path = chain.path(kept, own);
    done.nearest.timeline.iterations_run = static_cast<int>(works_.size());
    return done;
  }

 private:
  double samples() const {
    return static_cast<double>(prepared_.cluster.world_size()) *
           static_cast<double>(prepared_.item.workload.batch_per_gpu);
  }

  std::vector<double> iterations_ms(const IterationChain& chain) const {
    std::vector<double> ms;
    for (std::size_t i = kIterationsBefore; i < works_.size(); ++i) ms.push_back(chain.seconds(i).ms());
    return ms;
  }

  void add_iteration(const SimulationResult& result, const std::vector<Buffer>& buffers, MemoryProfile& highest) {
    const MemoryProfile profile =
        memory_profile(operations_, buffers, result.timeline, prepared_.plan, prepared_.item.workload);
    values_["samples_per_s"].push_back(samples() / (result.timeline.iteration_ms * 1e-3));
    values_["limited_by.share_pct"].push_back(100 * result.busiest.share);
    values_["memory.simulated.largest_bytes"].push_back(static_cast<double>(profile.highest().bytes()));
    add_times(values_, result.timeline);
    raise(highest, profile);
  }

  static int nearest_to_median(const DrawnFigures& figures) {
    const auto off = [&](double ms) { return std::abs(ms - figures.iteration_ms.median); };
    const auto nearest = std::ranges::min_element(figures.iterations_ms, {}, off);
    return kIterationsBefore + static_cast<int>(nearest - figures.iterations_ms.begin());
  }

  const PreparedCase& prepared_;
  const DrawnPrograms programs_;
  const Program operations_;
  std::vector<std::vector<OpWork>> works_;    // [iteration]
  std::vector<std::vector<Buffer>> buffers_;  // of the iterations that count
  Figures values_;
};

}  // namespace

double drawn_mean_ms(const PreparedCase& prepared, const WorksEdit& edit) {
  const Case& item = prepared.item;
  const DrawnPrograms programs(prepared.plan, item.workload, prepared.cluster, prepared.placed_options(false));
  const Program operations = programs.at(0);
  std::vector<std::vector<OpWork>> works;
  for (std::int64_t iteration = 0; iteration < kIterationsBefore + item.load.iterations; ++iteration) {
    const Program program = programs.at(iteration);
    works.push_back(prepared.works(program));
    if (edit) edit(program, prepared.cluster, works.back());
  }
  const auto network = prepared.network();
  const IterationChain chain(operations, prepared.cluster, works, *network);
  std::vector<double> ms;
  for (std::size_t i = kIterationsBefore; i < works.size(); ++i) ms.push_back(chain.seconds(i).ms());
  return mean(ms);
}

std::string kept_iteration_text(const DrawnFigures& figures, double kept_ms) {
  return fmt::format(
      "Batches are drawn: this is the path of iteration {}, with {:.4g} ms the one nearest to the median of {}; their "
      "mean is {:.4g} ms.",
      figures.kept, kept_ms, figures.iterations_ms.size(), figures.iteration_ms.mean);
}

DrawnSimulation simulate_drawn(const PreparedCase& prepared, bool observed_payload) {
  return done_in_case(prepared.item, [&] { return DrawnRun(prepared, observed_payload).simulate(); });
}

}  // namespace shardsim
