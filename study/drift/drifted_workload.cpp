#include "study/drift/drifted_workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "models/workload/workload_limits.h"

namespace shardsim {
namespace {

[[noreturn]] void refuse_day(const Place& place, const std::string& key, int day, const std::string& wrong) {
  throw input_error(place, fmt::format("drift.{}: on day {} {}", key, day, wrong),
                    fmt::format("Choose fewer days, or a smaller share for {}", key));
}

// A workload of a day keeps the limits that its file has to keep. No rounding hides that one was passed.
void require_sizes(const Workload& workload, const Place& place, const std::string& key, int day) {
  try {
    check_sizes(workload);
  } catch (const Error& error) {
    refuse_day(place, key, day, fmt::format("the workload is too large ({})", error.what()));
  }
}

void change_exponent(Table& table, double by) {
  const std::string& family = table.access.family;
  if (family != "zipf" && family != "zipf_mandelbrot") {
    throw input_error(table.place,
                      fmt::format("drift: the access law of table '{}' has no exponent that could change", table.name),
                      "Name the tables with a Zipf law in drift.tables, or leave drift.exponent out");
  }
  table.access.s = std::max(0.0, table.access.s + by);
}

void grow(Table& table, const DriftOptions& options, int day) {
  if (!table.access.p.empty()) {
    throw input_error(table.place,
                      fmt::format("drift: table '{}' lists its rows one by one and cannot grow", table.name),
                      "Name the tables that grow in drift.tables");
  }
  const double rows = static_cast<double>(table.rows) * std::pow(1 + options.growth, day);
  if (rows > static_cast<double>(kMostTableRows))
    refuse_day(options.growth_place, "growth", day,
               fmt::format("table '{}' has {:.3g} rows, and a table has at most 2^53", table.name, rows));
  const auto grown = static_cast<std::uint64_t>(std::llround(rows));
  table.joined_rows += grown - table.rows;
  table.rows = grown;
  if (!table.access.knots.empty()) table.access.knots.back().rank = static_cast<double>(table.rows);
  if (table.access.absolute()) table.access.rescale = true;
}

// Samples that have a feature grow with the batch: as large a part of it has the feature as on day 0.
void grow_batches_of_features(Workload& workload, std::int64_t before) {
  const double factor = static_cast<double>(workload.batch_per_gpu) / static_cast<double>(before);
  for (Table& table : workload.tables)
    for (Feature& feature : table.features)
      if (feature.batch) feature.batch = std::llround(factor * static_cast<double>(*feature.batch));
}

void grow_batch(Workload& workload, const DriftOptions& options, int day) {
  const std::int64_t before = workload.batch_per_gpu;
  const double batch = static_cast<double>(workload.batch_per_gpu) * std::pow(1 + options.batch, day);
  if (batch > static_cast<double>(kMostBatchPerGpu))
    refuse_day(options.batch_place, "batch", day,
               fmt::format("the batch of a GPU is {:.3g} samples, and {} are the most", batch,
                           with_thousands(kMostBatchPerGpu)));
  workload.batch_per_gpu = std::llround(batch);
  grow_batches_of_features(workload, before);
  require_sizes(workload, options.batch_place, "batch", day);
}

}  // namespace

Workload workload_on(const Workload& workload, const DriftOptions& options, int day) {
  Workload after = workload;
  if (day == 0) return after;
  for (Table& table : after.tables) {
    if (!fits_pattern(table.name, options.tables)) continue;
    if (options.exponent != 0) change_exponent(table, options.exponent * day);
    if (options.growth > 0) grow(table, options, day);
  }
  if (options.growth > 0) require_sizes(after, options.growth_place, "growth", day);
  if (options.batch > 0) grow_batch(after, options, day);
  return after;
}

Plan kept_plan(const Plan& plan, const Workload& before, const Workload& after) {
  Plan kept = plan;
  for (Placement& placement : kept.placements) {
    const auto table = static_cast<std::size_t>(placement.table);
    if (placement.row_end == before.tables[table].rows) placement.row_end = after.tables[table].rows;
  }
  return kept;
}

// Growth has no turning point: where the last day is within all limits, all are. Else the first one that is not is
// told, before any day is simulated.
void refuse_days_beyond_limits(const Workload& workload, const DriftOptions& options) {
  const auto fails = [&](int day) {
    try {
      workload_on(workload, options, day);
      return false;
    } catch (const Error&) {
      return true;
    }
  };
  if (!fails(options.days)) return;
  int good = 0, bad = options.days;
  while (bad - good > 1) {
    const int middle = good + (bad - good) / 2;
    (fails(middle) ? bad : good) = middle;
  }
  workload_on(workload, options, bad);
}

void rotate(Table& table, const std::vector<Placement>& tiers, double stays) {
  const AccessDistribution rows = table.distribution();
  ObservedAccess observed;
  observed.average_length = table.average_length;
  observed.source = "drift";
  for (const Placement& tier : tiers) {
    if (tier.row_end >= table.rows) continue;
    if (!observed.shares.empty() && observed.shares.back().rows >= tier.row_end) continue;
    const double even = static_cast<double>(tier.row_end) / static_cast<double>(table.rows);
    observed.shares.push_back({tier.row_end, stays * rows.prefix(tier.row_end) / rows.total() + (1 - stays) * even});
  }
  if (!observed.shares.empty()) table.runtime = observed;
}

}  // namespace shardsim
