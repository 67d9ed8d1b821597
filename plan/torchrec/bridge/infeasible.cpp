#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "base/units.h"
#include "plan/check.h"
#include "plan/torchrec/bridge/choice.h"

namespace shardsim::torchrec {
namespace {

std::string bytes_text(double bytes) {
  return to_text(Bytes{static_cast<std::int64_t>(std::min(std::max(bytes, 0.0), 0x1.0p62))});
}

// Rounded up to a number that can be typed into a scenario: whole GiB, or MiB below ten of them.
std::string more_text(double bytes) {
  const double unit = bytes >= 10.0 * 0x1.0p30 ? 0x1.0p30 : 0x1.0p20;
  return bytes_text(std::ceil(bytes / unit) * unit);
}

// Least memory of every table over all its options, largest first.
std::string largest_tables(const RunResult& run) {
  std::vector<std::pair<std::string, double>> least;
  for (const Proposal& options : options_by_table(proposal_of(run.space.options))) {
    const auto smallest = std::min_element(options.begin(), options.end(),
                                           [](const auto* a, const auto* b) { return a->total < b->total; });
    const Storage& total = (*smallest)->total;
    least.emplace_back(run.space.table_of(**smallest).name, static_cast<double>(total.hbm + total.ddr));
  }
  return largest_tables_text(std::move(least));
}

// Which memory is short, with what the smallest proposal needs of it and all ranks have.
struct Shortage {
  std::string memory;
  double needed, usable;
};

Shortage shortage_of(const RunResult& run) {
  const Storage room = capacity_of(run.reservation.topology), &lowest = run.lowest;
  if (lowest.hbm > room.hbm) return {"device", static_cast<double>(lowest.hbm), static_cast<double>(room.hbm)};
  if (lowest.ddr > room.ddr || lowest.ssd <= room.ssd)
    return {"host", static_cast<double>(lowest.ddr), static_cast<double>(room.ddr)};
  return {"SSD", static_cast<double>(lowest.ssd), static_cast<double>(room.ssd)};
}

bool host_memory_allowed(const RunResult& run) {
  return std::any_of(run.space.options.begin(), run.space.options.end(), [](const ShardingOption& option) {
    return option.kernel == ComputeKernel::fused_uvm || option.kernel == ComputeKernel::fused_uvm_caching;
  });
}

// More of the memory that is short: per rank, or on more ranks.
std::string smallest_change(const RunResult& run, const Shortage& shortage) {
  const double ranks = static_cast<double>(run.reservation.topology.world_size);
  const double needed = shortage.needed, usable = shortage.usable;
  std::string more = fmt::format("{} more {} memory per rank", more_text((needed - usable) / ranks), shortage.memory);
  if (usable > 0) more += fmt::format(", or {} ranks instead of {}", std::ceil(needed / (usable / ranks)), ranks);
  if (shortage.memory != "device" || host_memory_allowed(run)) return "Smallest change: " + more;
  return "Smallest change: allow host memory (compute kernel fused_uvm or fused_uvm_caching), or " + more;
}

// What a rank has is told without its reservation, of which none of it is left.
Error all_reserved(const RunResult& run, const RunSettings& settings) {
  constexpr double kMiB = 0x1.0p20;
  const double each = static_cast<double>(run.lowest.hbm) / static_cast<double>(settings.topology.world_size);
  const double has = static_cast<double>(settings.topology.devices.front().hbm);
  return Error(
      Failure::infeasible, Place{},
      fmt::format("no memory is left for tables: hbm_reserved is {}, and a rank has {}; the smallest proposal "
                  "needs {} of each rank",
                  bytes_text(static_cast<double>(settings.reservation.absolute)), bytes_text(has), bytes_text(each)),
      has > each + kMiB ? fmt::format("Reserve {:.0f} MiB at most", std::floor((has - each) / kMiB))
                        : "Reserve less on more ranks");
}

bool reserves_all(const RunSettings& settings) {
  return settings.reservation.kind == ReservationKind::fixed_absolute &&
         settings.reservation.absolute >= settings.topology.devices.front().hbm;
}

Error too_large(const RunResult& run) {
  const Shortage shortage = shortage_of(run);
  const double needed = shortage.needed, usable = shortage.usable;
  return Error(
      Failure::infeasible, Place{},
      fmt::format("no plan fits: the smallest proposal needs {} of {} memory, all ranks have {} for tables, {} "
                  "are missing. Largest tables: {}",
                  bytes_text(needed), shortage.memory, bytes_text(usable), bytes_text(needed - usable),
                  largest_tables(run)),
      smallest_change(run, shortage));
}

// Enough in sum, but some shard finds no rank.
Error no_place(const RunResult& run) {
  const PlacementFailure& failure = *run.last_error;
  std::string remedy = "Smallest change: constrain it to row_wise, which spreads it over all ranks";
  if (failure.rule == PartitionBy::uniform) remedy = "Smallest change: smaller tables or batches";
  if (failure.rule == PartitionBy::device || failure.rule == PartitionBy::uniform) {
    const Storage missing{failure.shard.hbm - failure.device.hbm, failure.shard.ddr - failure.device.ddr,
                          failure.shard.ssd - failure.device.ssd};
    const bool host = missing.hbm <= 0 && (missing.ddr > 0 || missing.ssd <= 0);
    const Shortage shortage = missing.hbm > 0 ? Shortage{"device", static_cast<double>(missing.hbm), 0}
                              : host          ? Shortage{"host", static_cast<double>(missing.ddr), 0}
                                              : Shortage{"SSD", static_cast<double>(missing.ssd), 0};
    remedy += fmt::format(", or {} more {} memory per rank", more_text(shortage.needed), shortage.memory);
  }
  return Error(Failure::infeasible, Place{},
               fmt::format("no plan fits, although all ranks together have the memory: {}; the last of {} proposals "
                           "failed there. Largest tables: {}",
                           failure.text, run.num_proposals, largest_tables(run)),
               remedy);
}

std::string smaller_reservation(const ReservationSettings& reservation) {
  if (reservation.kind == ReservationKind::sku_aware && reservation.model_base)
    return "Reserve a smaller model_base or runtime_overhead, or take a smaller batch";
  if (reservation.kind == ReservationKind::sku_aware)
    return "Reserve a smaller margin or runtime_overhead, state dense_tensor_estimate, or take a smaller batch";
  return fmt::format("Reserve a smaller share than {}, state dense_tensor_estimate, or take a smaller batch",
                     shortest(reservation.percentage));
}

}  // namespace

Reservation reservation_of(const PlannerRequest& request) {
  const RunSettings& settings = request.settings;
  try {
    return reserve(settings.reservation, settings.topology, request.tables, settings.estimate);
  } catch (const PlannerError& error) {
    throw Error(Failure::infeasible, Place{}, error.what(),
                "Take a smaller batch or more device memory, or reserve a smaller share of it");
  }
}

Error infeasible(const RunResult& run, const RunSettings& settings) {
  if (!run.reason.empty()) {
    return Error(Failure::infeasible, Place{}, "no memory is left for tables: " + run.reason,
                 smaller_reservation(settings.reservation));
  }
  if (run.num_proposals == 0 && run.timed_out) {
    return Error(Failure::infeasible, Place{}, "the timeout passed before the first proposal was placed",
                 fmt::format("Give more than {}", to_text(Seconds{*settings.timeout_seconds})));
  }
  if (run.num_proposals == 0) {
    return Error(Failure::infeasible, Place{}, "the proposers made no proposal",
                 "Add greedy to the proposers, or raise max_proposals");
  }
  if (reserves_all(settings) && run.lowest.hbm > 0) return all_reserved(run, settings);
  return run.failure == PlannerFailure::insufficient_storage || !run.last_error ? too_large(run) : no_place(run);
}

}  // namespace shardsim::torchrec
