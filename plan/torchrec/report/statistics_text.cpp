#include <fmt/format.h>

#include <cmath>
#include <string_view>

#include "base/text.h"
#include "plan/torchrec/report/statistics.h"
#include "plan/torchrec/report/text.h"

namespace shardsim::torchrec {
namespace {

std::string gigabytes_text(double bytes) {
  return decimals_text(gigabytes(bytes), 3) + " GiB";
}

std::string gigabytes_text(const Storage& storage) {
  const std::string ssd =
      storage.ssd == 0 ? "" : fmt::format(", SSD {}", gigabytes_text(static_cast<double>(storage.ssd)));
  return fmt::format("HBM {}, DDR {}{}", gigabytes_text(static_cast<double>(storage.hbm)),
                     gigabytes_text(static_cast<double>(storage.ddr)), ssd);
}

std::string ms_text(double value) {
  return decimals_text(value, 3) + " ms";
}

constexpr std::size_t kSpotRanksWidth = 48;

void add_labelled(std::string& text, const std::string& label, const std::string& value) {
  text += fmt::format("{:<31} {}\n", label, value);
}

std::string on_ranks(const std::vector<int>& ranks) {
  if (ranks.empty()) return "on no rank";
  return (ranks.size() == 1 ? "on rank " : "on ranks ") + short_ranks(ranks, kSpotRanksWidth);
}

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

void add_ranks(std::string& text, const Statistics& statistics) {
  std::vector<std::vector<std::string>> cells;
  for (std::size_t i = 0; i < statistics.ranks.size(); ++i) cells.push_back(rank_cells(statistics, i));
  text +=
      ranks_text({"Ranks", "HBM (GiB)", "DDR (GiB)", "Perf (ms)", "In (MiB)", "Out (MiB)", "Shards"}, cells, 16) + "\n";
}

// Sums of equal figures in another order differ by roundings, which are shown as 0.
double told(double value) {
  constexpr double kRounding = 1e-9;
  return std::abs(value) < kRounding ? 0 : value;
}

std::string over_mean(double most, double mean) {
  return mean > 0 ? fmt::format("{:.3g} %", told((most - mean) / mean) * 100) : "0 %";
}

std::vector<std::string> imbalance_row(const char* what, const Imbalance& of, const std::string& most) {
  const auto cell = [](double value) { return fmt::format("{:.3f}", told(value)); };
  return {what, cell(of.total_variation), cell(of.total_distance), cell(of.chi()), cell(of.kl()), most};
}

// Adds a table of how uneven the load of the ranks is.
void add_imbalance(std::string& text, const Statistics& of) {
  std::vector<std::vector<std::string>> rows = {
      {"Imbalance of", "total variation", "total distance", "chi divergence", "KL divergence", "most over mean"}};
  if (of.perf_imbalance) {
    rows.push_back(imbalance_row("perf", *of.perf_imbalance, over_mean(of.total.value, of.mean_total)));
  }
  if (of.hbm_imbalance) {
    rows.push_back(imbalance_row("HBM", *of.hbm_imbalance, over_mean(of.hbm_most, of.hbm_mean)));
  }
  if (of.ddr_imbalance) rows.push_back(imbalance_row("DDR", *of.ddr_imbalance, ""));
  if (rows.size() > 1) text += table_text(rows) + "\n";
}

// Version 2026-08 tells weights and optimizer state apart, and whose kernel the user has constrained.
void add_newest_kernels(std::string& text, const Statistics& of) {
  std::vector<std::string> hardcoded;
  int constrained = 0, count = 0;
  for (const auto& [name, kernel] : of.kernels) {
    add_labelled(text, "embedding weights, " + name, gigabytes_text(kernel.weights));
    add_labelled(text, "optimizer state, " + name, gigabytes_text(static_cast<double>(kernel.optimizer_state)));
    if (kernel.hardcoded > 0) hardcoded.push_back(fmt::format("{} {}", name, kernel.hardcoded));
    constrained += kernel.hardcoded;
    count += kernel.count;
  }
  const std::string which = hardcoded.empty() ? "" : fmt::format(" ({})", join(hardcoded));
  add_labelled(text, "kernels by constraints", fmt::format("{}{}, chosen {}", constrained, which, count - constrained));
}

void add_kernel_counts(std::string& text, const Statistics& of) {
  for (const auto& [name, kernel] : of.kernels) {
    add_labelled(text, "compute kernel " + name,
                 fmt::format("{}, {}", counted(static_cast<std::size_t>(kernel.count), "table"),
                             gigabytes_text(kernel.storage)));
  }
}

void add_kernels(std::string& text, const Statistics& of) {
  add_kernel_counts(text, of);
  if (of.newest() && !of.kernels.empty()) add_newest_kernels(text, of);
}

void add_maximum(std::string& text, const Spot& maximum) {
  add_labelled(text, maximum.label, ms_text(maximum.value) + " " + on_ranks(maximum.ranks));
}

void add_times(std::string& text, const Statistics& of) {
  add_maximum(text, of.total);
  add_labelled(text, "mean of total perf", ms_text(of.mean_total));
  for (const Spot& part : of.maxima) add_maximum(text, part);
  add_labelled(text, "sum of these five maxima", ms_text(of.sum_of_maxima()));
  add_labelled(text, "critical path",
               fmt::format("{} comms + {} compute", ms_text(of.critical_comms), ms_text(of.critical_compute)));
}

void add_top(std::string& text, const char* what, const RunResult& run, const std::vector<std::size_t>& tables) {
  std::vector<std::string> names;
  for (const std::size_t i : tables) names.push_back(run.space.table_of(run.plan[i]).name);
  if (!names.empty()) add_labelled(text, what, join(names));
}

void add_placed(std::string& text, const Statistics& of) {
  add_times(text, of);
  for (const Spot& spot : of.hbm) {
    add_labelled(text, spot.label, gigabytes_text(spot.value) + " " + on_ranks(spot.ranks));
  }
  for (std::size_t i = of.tiers.size(); i-- > 0;) {
    const auto bytes = static_cast<double>(of.tiers[i].bytes);
    add_labelled(text, fmt::format("peak HBM pressure, tier {}", i + 1),
                 gigabytes_text(bytes) + " " + on_ranks(of.tiers[i].ranks));
  }
  add_top(text, "slowest tables, slowest ranks", *of.run, of.top_perf);
  add_top(text, "largest tables, fullest ranks", *of.run, of.top_hbm);
}

// Memory of ranks is told without the dense part and the ids wherever a memory model counts tables alone.
void add_apart(std::string& text, const Statistics& of) {
  const Reservation& apart = of.run->reservation;
  if (!apart.itemised || apart.dense.hbm + apart.kjt.hbm == 0) return;
  const auto gib = [](std::int64_t bytes) { return decimals_text(gigabytes(static_cast<double>(bytes)), 3); };
  add_labelled(text, "most HBM, tables alone",
               fmt::format("{}, as in 'run' ({} dense part and {} ids apart)",
                           gigabytes_text(of.hbm_most - static_cast<double>(apart.dense.hbm + apart.kjt.hbm)),
                           gib(apart.dense.hbm), gib(apart.kjt.hbm)));
}

}  // namespace

std::string summary_text(const Statistics& of) {
  std::string text;
  if (!of.ranks.empty()) {
    add_maximum(text, of.total);
    add_labelled(text, "beside the mean of all ranks",
                 fmt::format("{} more than {}", over_mean(of.total.value, of.mean_total), ms_text(of.mean_total)));
    add_labelled(text, "critical path",
                 fmt::format("{} comms + {} compute", ms_text(of.critical_comms), ms_text(of.critical_compute)));
    for (const Spot& spot : of.hbm)
      if (std::string_view(spot.key) == "max_hbm" || std::string_view(spot.key) == "min_hbm")
        add_labelled(text, spot.label, gigabytes_text(spot.value) + " " + on_ranks(spot.ranks));
    add_apart(text, of);
  }
  const Storage usable = of.usable();
  add_labelled(text, "for planning per rank",
               fmt::format("HBM {}, DDR {}", gigabytes_text(static_cast<double>(usable.hbm)),
                           gigabytes_text(static_cast<double>(usable.ddr))));
  add_kernel_counts(text, of);
  return text;
}

std::string statistics_text(const Statistics& statistics) {
  const RunResult& run = *statistics.run;
  const RunSettings& settings = *statistics.settings;
  std::string text;
  if (!statistics.ranks.empty()) {
    add_ranks(text, statistics);
    add_imbalance(text, statistics);
  }
  if (run.num_proposals > 0) {
    add_labelled(text, "proposals", fmt::format("{} evaluated, {} placed", run.num_proposals, run.num_plans));
    if (run.num_untried > 0)
      add_labelled(text, "proposals not tried",
                   fmt::format("{}, whose estimates are worse than the best", run.num_untried));
  }
  add_labelled(text, "batch size per rank", fmt::format("{}", settings.estimate.batch_size));
  add_kernels(text, statistics);
  if (!statistics.ranks.empty()) add_placed(text, statistics);
  const double share = statistics.share_reserved();
  const auto hbm = [](const Storage& storage, double of_all) {
    return fmt::format("HBM {} ({})", gigabytes_text(static_cast<double>(storage.hbm)), percent_text(of_all));
  };
  const Storage usable = statistics.usable();
  add_labelled(text, "reserved per rank", hbm(statistics.reserved(), share));
  add_labelled(text, "for planning per rank",
               hbm(usable, 1 - share) + ", DDR " + gigabytes_text(static_cast<double>(usable.ddr)));
  if (run.reservation.itemised) {
    add_labelled(text, "dense part per rank", gigabytes_text(run.reservation.dense));
    add_labelled(text, "ids of batches (KJT) per rank", gigabytes_text(run.reservation.kjt));
  }
  return text;
}

}  // namespace shardsim::torchrec
