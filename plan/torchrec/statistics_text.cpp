#include "plan/torchrec/statistics_text.h"

#include <fmt/format.h>

#include "plan/torchrec/number_text.h"
#include "plan/torchrec/statistics_table.h"

namespace shardsim::torchrec {
namespace {

std::string gb(std::int64_t bytes) {
  return decimals_text(gigabytes(bytes), 3) + " GB";
}

std::string ms(double value) {
  return decimals_text(value, 3) + " ms";
}

void add_table(std::string& text, const StatisticsTable& table) {
  for (const std::string& line : table.lines()) text += line + "\n";
  text += "\n";
}

void add_line(std::string& text, const std::string& label, const std::string& value) {
  text += fmt::format("{:<36}{}\n", label, value);
}

void add_imbalance(std::string& text, const char* what, const std::optional<Imbalance>& of) {
  if (!of) return;
  add_line(text, fmt::format("{} imbalance", what),
           fmt::format("total variation {:.3f}, total distance {:.3f}, chi divergence {:.3f}, KL divergence {:.3f}",
                       of->total_variation, of->total_distance, of->chi(), of->kl()));
}

void add_maximum(std::string& text, const char* what, const Maximum& maximum) {
  add_line(text, fmt::format("maximum of {}", what),
           fmt::format("{} on ranks {}", ms(maximum.ms), rank_text(maximum.ranks)));
}

void add_near(std::string& text, const char* what, const NearRanks& near) {
  const std::string ranks = near.ranks.empty() ? "no rank" : "ranks " + rank_text(near.ranks);
  add_line(text, what, fmt::format("{} on {}", gb(near.bytes), ranks));
}

void add_placed(std::string& text, const Statistics& statistics) {
  add_imbalance(text, "perf", statistics.perf_imbalance);
  add_imbalance(text, "HBM", statistics.hbm_imbalance);
  add_imbalance(text, "DDR", statistics.ddr_imbalance);
  add_maximum(text, "total perf", statistics.total);
  add_line(text, "mean of total perf", ms(statistics.mean_total));
  add_maximum(text, "forward compute", statistics.fwd_compute);
  add_maximum(text, "forward comms", statistics.fwd_comms);
  add_maximum(text, "backward compute", statistics.bwd_compute);
  add_maximum(text, "backward comms", statistics.bwd_comms);
  add_maximum(text, "prefetch compute", statistics.prefetch_compute);
  add_line(text, "critical path",
           fmt::format("{} comms + {} compute", ms(statistics.critical_comms), ms(statistics.critical_compute)));
  add_near(text, "sparse only: most HBM", statistics.sparse_max);
  add_near(text, "sparse only: least HBM", statistics.sparse_min);
  add_near(text, "most HBM", statistics.max);
  add_near(text, "least HBM", statistics.min);
  add_near(text, "mean HBM", statistics.mean);
  add_near(text, "low median of HBM", statistics.low_median);
  add_near(text, "high median of HBM", statistics.high_median);
  for (std::size_t i = statistics.tiers.size(); i-- > 0;) {
    add_line(text, fmt::format("peak HBM pressure, tier {}", i + 1),
             fmt::format("{} on ranks {}", gb(statistics.tiers[i].bytes), rank_text(statistics.tiers[i].ranks)));
  }
}

}  // namespace

std::string statistics_text(const Statistics& statistics) {
  const RunResult& run = *statistics.run;
  const RunSettings& settings = *statistics.settings;
  std::string text;
  if (!statistics.ranks.empty()) add_table(text, rank_table(statistics));
  add_table(text, parameter_table(statistics));
  if (run.num_proposals > 0) {
    add_line(text, "proposals",
             fmt::format(
                 "{} evaluated, {} could be placed{}", run.num_proposals, run.num_plans,
                 run.num_untried > 0 ? fmt::format(", {} not tried: they cannot be the best", run.num_untried) : ""));
  }
  add_line(text, "batch size per rank", fmt::format("{}", settings.estimate.batch_size));
  for (const KernelStatistics& kernel : statistics.kernels) {
    add_line(text, "compute kernel " + kernel.kernel,
             fmt::format("{} tables, HBM {}, DDR {}", kernel.count, gb(kernel.storage.hbm), gb(kernel.storage.ddr)));
  }
  if (!statistics.ranks.empty()) add_placed(text, statistics);
  add_line(text, "reserved per rank",
           fmt::format("HBM {} ({})", gb(statistics.reserved().hbm), percent_text(settings.reservation.percentage)));
  add_line(text, "for planning per rank",
           fmt::format("HBM {} ({}), DDR {}", gb(statistics.usable().hbm),
                       percent_text(1 - settings.reservation.percentage), gb(statistics.usable().ddr)));
  if (run.reservation.itemised) {
    const Storage& dense = run.reservation.dense;
    const Storage& kjt = run.reservation.kjt;
    add_line(text, "dense part per rank", fmt::format("HBM {}, DDR {}", gb(dense.hbm), gb(dense.ddr)));
    add_line(text, "ids of batches (KJT) per rank", fmt::format("HBM {}, DDR {}", gb(kjt.hbm), gb(kjt.ddr)));
  }
  return text;
}

}  // namespace shardsim::torchrec
