#include "study/notes/load_notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <limits>
#include <optional>

#include "base/statistics.h"
#include "plan/check.h"
#include "plan/constraints.h"
#include "plan/memory_model.h"
#include "plan/torchrec_types.h"
#include "sim/lower/known_shares.h"
#include "study/notes/notes.h"
#include "study/scenario/read_planner.h"
#include "study/why/sentence.h"

namespace shardsim {
namespace {

constexpr const char* kTiers =
    " Replicating its most popular rows may help: 'run --planners flexshard_2tier,flexshard_3tier' tries it.";
constexpr std::int64_t kNarrow = 8;  // columns: slices of fewer are hardly worth a rank

const Table& table_named(const Workload& workload, const std::string& name) {
  return *std::ranges::find(workload.tables, name, &Table::name);
}

// True when the plan cuts the table in blocks of ids that are sorted by frequency, so that hot rows lie together.
bool hot_blocks(const PreparedCase& prepared, const Table& table) {
  if (table.row_order != RowOrder::popularity) return false;
  return std::ranges::any_of(prepared.plan.placements, [&](const Placement& placement) {
    const Table& here = prepared.item.workload.tables[static_cast<std::size_t>(placement.table)];
    return here.name == table.name && placement.shards() > 1 &&
           cut_of(placement, table, prepared.item.load) == RowCut::blocks;
  });
}

bool in_tiers(const PreparedCase& prepared, const Table& table) {
  return std::ranges::any_of(prepared.plan.placements, [&](const Placement& placement) {
    const Table& here = prepared.item.workload.tables[static_cast<std::size_t>(placement.table)];
    return here.name == table.name && placement.rows() < table.rows;
  });
}

int index_of(const Table& table, const Workload& workload) {
  return static_cast<int>(&table - workload.tables.data());
}

bool is_searched(const Case& item) {
  if (!item.plan_file.empty()) return false;
  return std::ranges::any_of(planners_within(item.planner), [](const Tree* planner) {
    const Tree* const name = planner->find("name");
    return name != nullptr && name->scalar == "search";
  });
}

std::string room_text(double bytes) {
  return bytes < 0.1 * kGiB ? fmt::format("{:.2g} MiB", bytes / kMiB) : fmt::format("{:.2g} GiB", bytes / kGiB);
}

// Other ways to place one table, of which only those are advised that the closed form says to be faster.
class Advice {
 public:
  Advice(const PreparedCase& prepared, const RankLoads& loads, std::optional<double> now_ms)
      : prepared_(prepared), loads_(loads), now_ms_(now_ms) {}

  // Returns the advice that keeps one rank from serving all lookups of the hot rows, which are `lookups` of the table
  // now; "" where none is known.
  std::string for_hot_rows(const Table& table, double lookups) const {
    if (is_searched(prepared_.item)) return " The planner search has already tried other ways to place it.";
    if (in_tiers(prepared_, table))
      return " Replicating more of its most popular rows may help (memory_budget of FlexShard's planners).";
    if (table.kind == TableKind::sequence) return kTiers;
    const std::string copies = static_cast<double>(table.rows) <= lookups ? of_copies(table) : "";
    return copies.empty() ? of_slices(table) : copies;
  }

 private:
  static constexpr double kTelling = 1;  // percent of an iteration

  // Copies of a whole table are all-reduced and applied row by row in each iteration: that pays at most where it has no
  // more rows than are asked for.
  std::string of_copies(const Table& table) const {
    const int index = index_of(table, prepared_.item.workload);
    const Placement copies =
        whole_table(index, table, Strategy::data_parallel, {all_ranks(prepared_.cluster.world_size())});
    const double shorter = shorter_pct({copies});
    if (shorter < kTelling) return "";
    const PlacementMemory more =
        prepared_.memory().on_ranks(copies, prepared_.item.workload, prepared_.cluster).front();
    return fmt::format(
        " Replicating table '{}' (data_parallel) makes the iteration {:.0f} % shorter by the estimate without "
        "contention, and every rank has room for its {}. {}",
        table.name, shorter, room_text(more.static_bytes + more.dynamic_bytes),
        how_to_simulate(table, "data_parallel"));
  }

  // Another planner for this table alone, where the case's own one has no options that would have to be repeated.
  std::string how_to_simulate(const Table& table, std::string_view planner) const {
    const Case& item = prepared_.item;
    const Tree* const own = item.plan_file.empty() ? item.planner.find("name") : nullptr;
    if (own == nullptr || own->scalar == "per_table" || item.planner.fields.size() > 1) return "Simulate it.";
    return fmt::format("Simulate it: --set planner='{{name: per_table, tables: {{\"{}\": {}, \"*\": {}}}}}'.",
                       table.name, planner, own->scalar);
  }

  std::string of_slices(const Table& table) const {
    const std::vector<Placement> slices = slices_of(table);
    const double shorter = slices.size() < 2 ? 0 : shorter_pct(slices);
    if (shorter < kTelling) return "";
    return fmt::format(
        " Cutting table '{}' into {} slices of columns (column_wise) makes the iteration {:.0f} % shorter by the "
        "estimate without contention. {}",
        table.name, slices.size(), shorter, how_to_simulate(table, "column_wise"));
  }

  // As many as are not too narrow, on the ranks that look up least.
  std::vector<Placement> slices_of(const Table& table) const {
    std::vector<int> ranks = all_ranks(prepared_.cluster.world_size());
    std::ranges::stable_sort(ranks, {}, [&](int rank) { return loads_.lookups[static_cast<std::size_t>(rank)]; });
    auto count = std::min<std::int64_t>(std::ssize(ranks), table.dim / kNarrow);
    while (count > 1 && table.dim % count != 0) --count;
    std::vector<Placement> slices;
    for (std::int64_t i = 0; i < count; ++i) {
      slices.push_back(whole_table(index_of(table, prepared_.item.workload), table, Strategy::column_wise,
                                   {{ranks[static_cast<std::size_t>(i)]}}));
      slices.back().column_begin = i * (table.dim / count);
      slices.back().column_end = (i + 1) * (table.dim / count);
    }
    return slices;
  }

  // By how many percent the iteration gets shorter with these placements of one table in place of its own; 0 where they
  // do not fit or may not be.
  double shorter_pct(const std::vector<Placement>& placements) const {
    Plan plan = prepared_.plan;
    std::erase_if(plan.placements, [&](const Placement& own) { return own.table == placements.front().table; });
    plan.placements.insert(plan.placements.end(), placements.begin(), placements.end());
    std::ranges::stable_sort(plan.placements, {}, &Placement::table);
    const Case& item = prepared_.item;
    try {
      check_constraints(plan, item.workload, item.constraints, row_ranks(item.workload, item.cluster), "the advice");
      check_memory(plan, item.workload, prepared_.cluster, prepared_.memory());
      if (!now_ms_) now_ms_ = uncontended_ms(prepared_);
      return 100 * (1 - uncontended_ms(prepared_.with_plan(std::move(plan))) / *now_ms_);
    } catch (const Error&) {
      return 0;
    }
  }

  const PreparedCase& prepared_;
  const RankLoads& loads_;
  mutable std::optional<double> now_ms_;
};

std::string remedy(const Table& table, double lookups, const PreparedCase& prepared, const Advice& advice) {
  if (!hot_blocks(prepared, table)) return advice.for_hot_rows(table, lookups);
  return fmt::format(
      " The ids of table '{}' are sorted by popularity, so cutting it into blocks puts the hottest rows on one rank. "
      "Cut it modulo instead (load: {{row_cut: modulo}}), or hash the ids (row_order: random).",
      table.name);
}

// A rank with as many lookups as any, and the table that lifts it most above the mean.
struct FullRank {
  std::size_t rank = 0;
  const RankLoads::OfTable* table = nullptr;
};

FullRank full_rank(const RankLoads& loads, int rank) {
  const auto at = static_cast<std::size_t>(rank);
  const auto lift = [&](const RankLoads::OfTable& of) {
    // The entry without a name holds all tables beyond those that are told apart: no advice is about it.
    return of.table.empty() ? -std::numeric_limits<double>::infinity() : of.lookups[at] - mean(of.lookups);
  };
  return {at, &*std::ranges::max_element(loads.tables, {}, lift)};
}

// Returns the fullest rank; of several that are as full, the one that the others wait for, if it is among them.
FullRank fullest_rank(const RankLoads& loads, const CollectivePart* waiting) {
  constexpr double kAsFull = 0.99;
  const auto lookups = [&](int rank) { return loads.lookups[static_cast<std::size_t>(rank)]; };
  const bool as_full = waiting != nullptr && lookups(waiting->rank) >= kAsFull * lookups(loads.fullest);
  return full_rank(loads, as_full ? waiting->rank : loads.fullest);
}

// ", 2.16 times the mean of that table": of the ranks that have some of it, which are often few. Where they have as
// much of it, what makes the rank full is that the others have none.
std::string against_others(const RankLoads::OfTable& table, std::size_t rank) {
  const auto owners = std::ranges::count_if(table.lookups, [](double lookups) { return lookups > 0; });
  if (owners < 2) return ", and this rank alone has it";
  const double times = table.lookups[rank] / mean(table.lookups);
  if (owners == std::ssize(table.lookups)) return fmt::format(", {:.2f} times the mean of that table", times);
  constexpr double kAsMuch = 1.05;
  const double of_owners = times * static_cast<double>(owners) / static_cast<double>(table.lookups.size());
  if (of_owners < kAsMuch)
    return fmt::format("; {} of {} ranks have the table, and this one no more of it than the others", owners,
                       table.lookups.size());
  return fmt::format(", {:.2f} times the mean of the {} ranks that have some of it", of_owners, owners);
}

std::string most_of(const FullRank& full, const RankLoads& loads) {
  return fmt::format(" Table '{}' adds most to it: {:.0f} % of its lookups{}.", full.table->table,
                     100 * full.table->lookups[full.rank] / loads.lookups[full.rank],
                     against_others(*full.table, full.rank));
}

// How full it is, and whether anybody waits for it: the critical path knows that, not the lookups.
std::string full_rank_text(const FullRank& full, const RankLoads& loads, const Why* why,
                           const CollectivePart* waiting) {
  const std::string rank =
      fmt::format("Rank {} looks up {:.2f} times as many rows as the mean rank", full.rank, loads.times_mean());
  const std::string table = most_of(full, loads);
  if (why == nullptr) return fmt::format("{}; 'shardsim why' says whether the others wait for it.{}", rank, table);
  if (waiting == nullptr) return fmt::format("{}.{} The others hardly wait for it.", rank, table);
  if (waiting->rank == static_cast<int>(full.rank))
    return fmt::format("{}, and the others wait for it.{}", rank, table);
  return fmt::format("{}.{} The others do not wait for it, but for {}.", rank, table, waited_rank_text(*waiting));
}

std::string hot_row_limit(const HotRow& row, bool of_tier) {
  return fmt::format(
      "Table '{}': its hottest row gets {:.1f} % of the lookups{}, so no cut by rows over {} ranks can bring the "
      "fullest rank below {:.2f} times the mean.",
      row.table, 100 * row.share, of_tier ? " of its tier" : "", row.owners, row.least_times_mean);
}

// An advice, " Cutting table ...", for a rank of which nobody knows whether the others wait for it. That the planner
// has tried everything is none.
std::string conditional(std::string advice, const PreparedCase& prepared) {
  if (advice.empty() || is_searched(prepared.item)) return advice;
  advice[1] = static_cast<char>(std::tolower(static_cast<unsigned char>(advice[1])));
  return " If the others wait for that rank:" + advice;
}

// "3 has 1.42 times the mean".
std::string fullest_text(const std::vector<double>& of_ranks) {
  const auto most = std::ranges::max_element(of_ranks);
  return fmt::format("rank {} has {:.2f} times the mean", most - of_ranks.begin(), *most / mean(of_ranks));
}

// Drawn batches have an estimate of their own, the mean of theirs.
std::optional<double> estimate_of_expected(const CaseResult& result) {
  return result.drawn || !(result.estimate_iteration_ms > 0) ? std::nullopt
                                                             : std::optional(result.estimate_iteration_ms);
}

}  // namespace

std::string tiers_remedy(const Workload& workload) {
  const bool tiers =
      std::ranges::all_of(workload.tables, [](const Table& table) { return table.kind == TableKind::sequence; });
  return tiers ? kTiers : "";
}

std::vector<std::string> load_notes(const RankLoads& loads, const PreparedCase& prepared,
                                    std::optional<double> estimated_ms, const Why* why) {
  if (!(loads.times_mean() >= 1 + kTellingSkew)) return {};
  const CollectivePart* const waiting = why == nullptr ? nullptr : longest_waiting(*why);
  const FullRank full = fullest_rank(loads, waiting);
  std::vector<std::string> notes = {full_rank_text(full, loads, why, waiting)};
  // Whom nobody waits for need not be relieved.
  if (why != nullptr && (waiting == nullptr || waiting->rank != static_cast<int>(full.rank))) return notes;
  const Workload& workload = prepared.item.workload;
  const Table& most = table_named(workload, full.table->table);
  const Advice advice(prepared, loads, estimated_ms);
  const auto& row = loads.hottest_row;
  const auto said = [&](std::string text) { return why == nullptr ? conditional(std::move(text), prepared) : text; };
  const bool limits = row && row->least_times_mean >= 1 + kTellingSkew;
  if (!limits || row->table != most.name || hot_blocks(prepared, most)) {
    notes.back() += said(remedy(most, full.table->lookups[full.rank], prepared, advice));
  }
  if (limits) {
    const Table& hot = table_named(workload, row->table);
    notes.push_back(hot_row_limit(*row, in_tiers(prepared, hot)) + said(advice.for_hot_rows(hot, row->lookups)));
  }
  return notes;
}

std::string load_statistics(const Program& program) {
  const RankLoads loads = loads_of(program);
  if (!(mean(loads.lookups) > 0)) return "No rank looks up anything.";
  std::string text = fmt::format("Lookups of an iteration: {}", fullest_text(loads.lookups));
  if (loads.times_mean() > 1.005) {
    text += fmt::format("; table '{}' adds most to it", loads.tables.front().table);
  }
  const std::vector<double> ids = ids_received(program);
  text += mean(ids) > 0 ? fmt::format(". Ids received: {}.", fullest_text(ids)) : ". No ids are exchanged.";
  return text;
}

Notes loads_note(const Known& known) {
  if (known.result == nullptr) {
    const auto loads = rank_loads(known.prepared->program());
    return loads ? load_notes(*loads, *known.prepared) : Notes{};
  }
  const CaseResult& result = *known.result;
  if (!result.loads) return {};
  return load_notes(*result.loads, *known.prepared, estimate_of_expected(result), result.why ? &*result.why : nullptr);
}

// A plan need not be one that can be lowered.
Notes lookups_note(const Known& known) {
  Notes notes;
  try {
    notes.push_back(load_statistics(known.prepared->program()));
    for (std::string& note : loads_note(known)) notes.push_back(std::move(note));
  } catch (const Error& error) {
    notes.push_back("The loads of this plan are not known: " + std::string(error.what()));
  }
  return notes;
}

}  // namespace shardsim
