#include <fmt/format.h>

#include <map>

#include "base/text.h"
#include "plan/torchrec/report/statistics.h"
#include "plan/torchrec/report/text.h"

namespace shardsim::torchrec {
namespace {

std::string gigabytes_text(std::int64_t bytes) {
  return decimals_text(gigabytes(bytes), 3) + " GB";
}

std::string ms_text(double value) {
  return decimals_text(value, 3) + " ms";
}

constexpr std::size_t kSpotRanksWidth = 48;

void add_labelled(std::string& text, const std::string& label, const std::string& value) {
  text += fmt::format("{:<32}{}\n", label, value);
}

std::string on_ranks(const std::vector<int>& ranks) {
  return ranks.empty() ? "on no rank" : "on ranks " + short_ranks(ranks, kSpotRanksWidth);
}

// Cells of a rank, with the ranks that have the same.
struct RankGroup {
  std::vector<int> ranks;
  std::vector<std::string> cells;
};

std::vector<std::string> rank_cells(const Statistics& statistics, std::size_t i) {
  const RankStatistics& rank = statistics.ranks[i];
  const auto cell = [](std::int64_t bytes, double share) {
    return fmt::format("{} ({})", decimals_text(gigabytes(bytes), 3), percent_text(share));
  };
  std::vector<std::string> shards;
  for (std::size_t t = 0; t < statistics.types.size(); ++t) {
    if (rank.shards[t] > 0) shards.push_back(fmt::format("{}:{}", statistics.types[t], rank.shards[t]));
  }
  return {cell(rank.used.hbm, statistics.hbm_share(i)),
          cell(rank.used.ddr, statistics.ddr_share(i)),
          decimals_text(rank.perf.total(), 3),
          decimals_text(rank.input_mb, 2),
          decimals_text(rank.output_mb, 2),
          join(shards, " ")};
}

// Ranks with equal cells share a line.
void add_ranks(std::string& text, const Statistics& statistics) {
  std::vector<RankGroup> groups;
  std::map<std::vector<std::string>, std::size_t> known;
  for (std::size_t i = 0; i < statistics.ranks.size(); ++i) {
    std::vector<std::string> cells = rank_cells(statistics, i);
    const auto [entry, added] = known.try_emplace(cells, groups.size());
    if (added) groups.push_back({{}, std::move(cells)});
    groups[entry->second].ranks.push_back(static_cast<int>(i));
  }
  std::vector<std::vector<std::string>> rows = {
      {"Ranks", "HBM (GB)", "DDR (GB)", "Perf (ms)", "In (MB)", "Out (MB)", "Shards"}};
  for (const RankGroup& group : groups) {
    rows.push_back({short_ranks(group.ranks, 16)});
    rows.back().insert(rows.back().end(), group.cells.begin(), group.cells.end());
  }
  text += table_text(rows) + "\n";
}

std::string over_mean(double most, double mean) {
  return mean > 0 ? fmt::format("{:.3g} %", (most - mean) / mean * 100) : "0 %";
}

std::vector<std::string> imbalance_row(const char* what, const Imbalance& of, const std::string& most) {
  const auto cell = [](double value) { return fmt::format("{:.3f}", value); };
  return {what, cell(of.total_variation), cell(of.total_distance), cell(of.chi()), cell(of.kl()), most};
}

// How uneven the ranks are.
void add_imbalance(std::string& text, const Statistics& of) {
  std::vector<std::vector<std::string>> rows = {
      {"Imbalance of", "total variation", "total distance", "chi divergence", "KL divergence", "most over mean"}};
  if (of.perf_imbalance) {
    rows.push_back(imbalance_row("perf", *of.perf_imbalance, over_mean(of.total.ms, of.mean_total)));
  }
  if (of.hbm_imbalance) {
    rows.push_back(imbalance_row("HBM", *of.hbm_imbalance,
                                 over_mean(static_cast<double>(of.max.bytes), static_cast<double>(of.mean.bytes))));
  }
  if (of.ddr_imbalance) rows.push_back(imbalance_row("DDR", *of.ddr_imbalance, ""));
  if (rows.size() > 1) text += table_text(rows) + "\n";
}

void add_maximum(std::string& text, const char* what, const Maximum& maximum) {
  add_labelled(text, fmt::format("maximum of {}", what),
               fmt::format("{} {}", ms_text(maximum.ms), on_ranks(maximum.ranks)));
}

void add_near(std::string& text, const char* what, const NearRanks& near) {
  add_labelled(text, what, fmt::format("{} {}", gigabytes_text(near.bytes), on_ranks(near.ranks)));
}

void add_times(std::string& text, const Statistics& of) {
  add_maximum(text, "total perf", of.total);
  add_labelled(text, "mean of total perf", ms_text(of.mean_total));
  add_maximum(text, "forward compute", of.fwd_compute);
  add_maximum(text, "forward comms", of.fwd_comms);
  add_maximum(text, "backward compute", of.bwd_compute);
  add_maximum(text, "backward comms", of.bwd_comms);
  add_maximum(text, "prefetch compute", of.prefetch_compute);
  add_labelled(
      text, "sum of these five maxima",
      ms_text(of.fwd_compute.ms + of.fwd_comms.ms + of.bwd_compute.ms + of.bwd_comms.ms + of.prefetch_compute.ms));
  add_labelled(text, "critical path",
               fmt::format("{} comms + {} compute", ms_text(of.critical_comms), ms_text(of.critical_compute)));
}

void add_top(std::string& text, const char* what, const std::vector<TopTable>& tables) {
  std::vector<std::string> names;
  for (const TopTable& table : tables) names.push_back(table.name);
  if (!names.empty()) add_labelled(text, what, join(names));
}

void add_placed(std::string& text, const Statistics& statistics) {
  add_times(text, statistics);
  add_near(text, "sparse only: most HBM", statistics.sparse_max);
  add_near(text, "sparse only: least HBM", statistics.sparse_min);
  add_near(text, "most HBM", statistics.max);
  add_near(text, "least HBM", statistics.min);
  add_near(text, "mean HBM", statistics.mean);
  add_near(text, "low median of HBM", statistics.low_median);
  add_near(text, "high median of HBM", statistics.high_median);
  for (std::size_t i = statistics.tiers.size(); i-- > 0;) {
    add_labelled(text, fmt::format("peak HBM pressure, tier {}", i + 1),
                 fmt::format("{} {}", gigabytes_text(statistics.tiers[i].bytes), on_ranks(statistics.tiers[i].ranks)));
  }
  add_top(text, "slowest tables, slowest ranks", statistics.top_perf);
  add_top(text, "largest tables, fullest ranks", statistics.top_hbm);
}

}  // namespace

std::string statistics_text(const Statistics& statistics) {
  const RunResult& run = *statistics.run;
  const RunSettings& settings = *statistics.settings;
  std::string text;
  if (!statistics.ranks.empty()) {
    add_ranks(text, statistics);
    add_imbalance(text, statistics);
  }
  if (run.num_proposals > 0) {
    add_labelled(text, "proposals", fmt::format("{} evaluated, {} could be placed", run.num_proposals, run.num_plans));
    if (run.num_untried > 0)
      add_labelled(text, "proposals not placed", fmt::format("{}, which cannot be the best", run.num_untried));
  }
  add_labelled(text, "batch size per rank", fmt::format("{}", settings.estimate.batch_size));
  for (const KernelStatistics& kernel : statistics.kernels) {
    add_labelled(text, "compute kernel " + kernel.kernel,
                 fmt::format("{} tables, HBM {}, DDR {}", kernel.count, gigabytes_text(kernel.storage.hbm),
                             gigabytes_text(kernel.storage.ddr)));
  }
  if (!statistics.ranks.empty()) add_placed(text, statistics);
  add_labelled(text, "reserved per rank",
               fmt::format("HBM {} ({})", gigabytes_text(statistics.reserved().hbm),
                           percent_text(settings.reservation.percentage)));
  add_labelled(text, "for planning per rank",
               fmt::format("HBM {} ({}), DDR {}", gigabytes_text(statistics.usable().hbm),
                           percent_text(1 - settings.reservation.percentage), gigabytes_text(statistics.usable().ddr)));
  if (run.reservation.itemised) {
    const Storage& dense = run.reservation.dense;
    const Storage& kjt = run.reservation.kjt;
    add_labelled(text, "dense part per rank",
                 fmt::format("HBM {}, DDR {}", gigabytes_text(dense.hbm), gigabytes_text(dense.ddr)));
    add_labelled(text, "ids of batches (KJT) per rank",
                 fmt::format("HBM {}, DDR {}", gigabytes_text(kjt.hbm), gigabytes_text(kjt.ddr)));
  }
  return text;
}

}  // namespace shardsim::torchrec
