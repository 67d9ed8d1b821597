#include "study/why/help.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <tuple>

#include "base/text.h"
#include "study/why/what_if.h"

namespace shardsim {
namespace {

constexpr double kSamePath = 0.01;            // per cent per per cent: the path tells the same as the simulations
constexpr double kTellingSupposition = 0.01;  // of the iteration
constexpr double kTellingTable = 0.01;        // of the iteration on the path: what makes a table worth simulating

constexpr Lever kLevers[] = {Lever::nics, Lever::nvlink, Lever::pcie, Lever::host_link,         Lever::ssd,
                             Lever::hbm,  Lever::flops,  Lever::host, Lever::collective_starts, Lever::kernel_starts,
                             Lever::batch};

// Per cent of the iteration that its better side gains; noise of the order of operations is none.
double shortened(const Elasticity& lever) {
  constexpr double kDigits = 1e-2;  // what is shown
  return std::round(-lever.better_pct.value_or(0) / kDigits) * kDigits;
}

class Helper {
 public:
  Helper(const Case& item, const Why& why, const Resimulate& simulate, std::size_t tables)
      : item_(item), why_(why), simulate_(simulate), tables_(tables) {
    const Resimulated as_it_is = simulate_({item, {}, false, 1});
    help_.iteration_ms = as_it_is.iteration_ms;
    path_ms_ = as_it_is.path_ms;
  }

  Help help() {
    for (const Lever lever : kLevers)
      if (has_lever(item_, lever) && is_used(lever)) try_lever({lever, 1, -1}, std::string(words(lever).name));
    for (std::size_t i = 0; i < why_.tables.size() && i < tables_; ++i) {
      if (why_.tables[i].ms < kTellingTable * why_.iteration_ms) break;
      try_table(why_.tables[i].table);
    }
    for (const WhatIf& what_if : what_ifs(item_, why_)) suppose(what_if);
    std::ranges::stable_sort(help_.elasticities, std::greater{}, [](const Elasticity& each) {
      return std::tuple(!each.is_longer_when_better(), shortened(each), each.percent);
    });
    std::ranges::stable_sort(help_.supposed, {}, &Supposed::iteration_ms);
    const std::vector<std::string> pinned = pinned_values(item_);
    help_.remarks.insert(help_.remarks.end(), pinned.begin(), pinned.end());
    return std::move(help_);
  }

 private:
  bool is_used(Lever lever) const {
    if (lever == Lever::ssd) return why_.uses_ssd;
    if (lever == Lever::pcie) return exchanges_over_pcie(why_);
    return lever != Lever::host_link || why_.uses_host_link;
  }

  void try_table(const std::string& name) {
    const auto table = std::ranges::find(item_.workload.tables, name, &Table::name);
    if (table == item_.workload.tables.end()) return;
    try_lever({Lever::lookups, 1, static_cast<int>(table - item_.workload.tables.begin())},
              "lookups of table " + printable(name));
  }

  void try_lever(const Change& change, const std::string& name) {
    try {
      help_.elasticities.push_back(elasticity(change, name));
      if (change.lever == Lever::batch) remark_on_batch(help_.elasticities.back());
      if (help_.elasticities.back().is_longer_when_better()) remark_on_order(help_.elasticities.back());
    } catch (const Error& error) {
      help_.remarks.push_back(fmt::format("Not simulated: another {} ({}).", name, error.what()));
    }
  }

  Elasticity elasticity(const Change& change, const std::string& name) const {
    const bool is_rate = words(change.lever).is_rate;
    const auto moved = [&](double share) {
      return changed_case(item_, {change.lever, is_rate ? 1 + share : 1 - share, change.table});
    };
    const ChangedCase better = moved(kLeverStep), worse = moved(-kLeverStep);
    const Resimulated faster = simulate_(better), slower = simulate_(worse);
    const double step = std::abs(better.factor - worse.factor);
    Elasticity found{std::string(words(change.lever).key), name};
    found.better_set = settings_of(better, change.lever);
    found.worse_set = settings_of(worse, change.lever);
    if (change.table >= 0) found.table = item_.workload.tables[static_cast<std::size_t>(change.table)].name;
    found.better_pct = 100 * (faster.iteration_ms / help_.iteration_ms - 1);
    found.worse_pct = 100 * (slower.iteration_ms / help_.iteration_ms - 1);
    if (step <= 0) return found;
    const bool uneven = found.is_uneven();
    const double moved_by = uneven ? std::abs(better.factor - 1) : step;
    const auto per_cent = [&](double worse_ms, double as_it_is, double better_ms) {
      return ((uneven ? as_it_is : worse_ms) - better_ms) / as_it_is / moved_by;
    };
    found.percent = per_cent(slower.iteration_ms, help_.iteration_ms, faster.iteration_ms);
    if (path_ms_ && faster.path_ms && slower.path_ms) {
      found.on_path = per_cent(*slower.path_ms, *path_ms_, *faster.path_ms);
      found.switches = std::abs(*found.on_path - found.percent) > kSamePath;
    }
    return found;
  }

  // Where the amount of work changes, another placement of the rows might be the typical one.
  static std::vector<std::string> settings_of(const ChangedCase& changed, Lever lever) {
    std::vector<std::string> settings = changed.settings;
    const bool is_amount = lever == Lever::batch || lever == Lever::lookups;
    if (is_amount && !settings.empty() && changed.item.load.draw)
      settings.push_back(fmt::format("load.draw={}", *changed.item.load.draw));
    return settings;
  }

  // A smaller batch shortens iterations, and still trains fewer samples per second where it shortens them by less.
  void remark_on_batch(const Elasticity& batch) {
    const double share = changed_case(item_, {Lever::batch, 1 - kLeverStep, -1}).factor;
    const double more = share / (1 + *batch.better_pct / 100) - 1;
    const std::string smaller = fmt::format("A batch that is {:.3g} % smaller", 100 * (1 - share));
    const std::string samples =
        fmt::format("{:.2g} % {} samples are trained per second", 100 * std::abs(more), more < 0 ? "fewer" : "more");
    const bool is_shorter = shortened(batch) > 0;
    help_.remarks.push_back(
        is_shorter ? fmt::format("{} makes iterations shorter, {} {}.", smaller, more < 0 ? "but" : "and", samples)
                   : fmt::format("{} makes iterations no shorter, so {}.", smaller, samples));
  }

  void remark_on_order(const Elasticity& lever) {
    help_.remarks.push_back(
        fmt::format("With the {} 10 % better the iteration is {:.2g} % longer: operations that share streams and links "
                    "then come in another order. How much it helps by itself is not to be read off these figures.",
                    lever.name, *lever.better_pct));
  }

  void suppose(const WhatIf& what_if) {
    const double ms = simulate_(what_if.changed).iteration_ms, shorter = 1 - ms / help_.iteration_ms;
    if (std::abs(shorter) < what_if.telling || (what_if.if_shorter && shorter < 0)) return;
    help_.supposed.push_back({std::string(what_if.key), what_if.text, ms, 100 * shorter});
    remark_on(what_if.key, shorter);
  }

  // Adds a remark on what a supposition does not say.
  void remark_on(std::string_view key, double shorter) {
    if (shorter < kTellingSupposition) return;
    if (key == kFp16Vectors)
      help_.remarks.emplace_back(
          "Vectors travel as fp16 with 'wire_dtype: {forward: fp16, backward: fp16}' in the workload, in TorchRec with "
          "quantised communication. That changes the numbers which the model is trained with.");
    if (key == kTf32Products)
      help_.remarks.emplace_back(
          "Products run in TF32 with 'precision: tf32' in the dense part of the workload, in PyTorch with "
          "torch.set_float32_matmul_precision('high'). That rounds their factors to 10 bits of mantissa.");
    if (key == kIndexDedup)
      help_.remarks.emplace_back(
          "With 'index_dedup: true' in the workload, an option of TorchRec's sequence modules, an id that a rank's "
          "batch has twice is exchanged once.");
    if (key == kFreeHost)
      help_.remarks.emplace_back(
          "A host that is free launches the same kernels. Compiled software has fewer and faster ones, too, and may "
          "gain more; '--set software=...' simulates that.");
  }

  const Case& item_;
  const Why& why_;
  const Resimulate& simulate_;
  const std::size_t tables_;
  std::optional<double> path_ms_;
  Help help_;
};

// The seconds of one step that follow from the works: nothing of what is held, or left over.
double nominal_seconds(const PathStep& step, const Cluster& cluster, const std::vector<OpWork>& works) {
  if (step.op < 0) return 0;
  const OpWork& work = works[static_cast<std::size_t>(step.op)];
  if (step.kind == PathStep::Kind::work) return std::max(work.seconds[static_cast<std::size_t>(step.rank)], 0.0);
  const auto call = std::ranges::find_if(work.calls, [&](const OpWork::Call& each) {
    return std::ranges::find(each.ranks, step.rank) != each.ranks.end();
  });
  if (call == work.calls.end()) return 0;
  if (step.kind == PathStep::Kind::start) return call->loads.start.value;
  const auto load = std::ranges::find(call->loads.loads, step.link, &LinkLoad::link);
  if (load == call->loads.loads.end()) return 0;
  const double rate = cluster.links()[static_cast<std::size_t>(step.link)].rate.bytes_per_second;
  const double cap = load->cap.bytes_per_second;
  return load->occupancy / (cap > 0 ? std::min(cap, rate) : rate);
}

// One after the other, so that a step of one is a step of the other: they may differ in sizes.
bool has_same_operations(const Program& one, const Program& other) {
  return std::ranges::equal(one.ops, other.ops, [](const Op& a, const Op& b) {
    return a.name == b.name && a.op_class == b.op_class && a.group == b.group;
  });
}

// A case that was changed, and the work of its operations. The Program is the original's where only rates change.
struct Expanded {
  Expanded(const PreparedCase& original, const ChangedCase& changed)
      : prepared(original.with_case(changed.item)),
        program(changed.lowered_anew ? prepared.program() : original.program()),
        works(prepared.works(program)) {
    if (changed.edit) changed.edit(program, prepared.cluster, works);
  }

  const PreparedCase prepared;
  const Program& program;
  std::vector<OpWork> works;
};

// Simulates a case again and again with one plan.
class Resimulation {
 public:
  Resimulation(const PreparedCase& prepared, CriticalPath path) : original_(prepared), path_(std::move(path)) {}

  Resimulated of(const ChangedCase& changed) {
    const Expanded now(original_, changed);
    Resimulated result;
    result.iteration_ms = now.prepared.time(now.program, now.works, *now.prepared.network()).ms();
    if (!path_.steps.empty() && has_same_operations(now.program, original_.program()))
      result.path_ms = retraced_ms(now);
    return result;
  }

 private:
  // A step that shares a link or the GPU loses as large a part of its time as before.
  double retraced_ms(const Expanded& after) {
    if (before_.empty()) before_ = original_.works(original_.program());
    double seconds = 0;
    for (const PathStep& step : path_.steps) {
      const double old = nominal_seconds(step, original_.cluster, before_);
      const double now = nominal_seconds(step, after.prepared.cluster, after.works);
      seconds += old > 0 ? step.seconds * now / old : step.seconds + now;
    }
    return seconds * 1e3;
  }

  const PreparedCase& original_;
  const CriticalPath path_;
  std::vector<OpWork> before_;  // the original's
};

}  // namespace

bool Elasticity::is_uneven() const {
  constexpr double kTelling = 0.5, kTwice = 2;  // per cent; times
  const double gained = -better_pct.value_or(0), lost = worse_pct.value_or(0);
  const double less = std::min(gained, lost), more = std::max(gained, lost);
  return more > kTelling && more > kTwice * less;
}

Help help_for(const Case& item, const Why& why, const Resimulate& simulate, std::size_t tables) {
  return Helper(item, why, simulate, tables).help();
}

Resimulate resimulation_of(const PreparedCase& prepared, CriticalPath path) {
  const auto kept = std::make_shared<Resimulation>(prepared, std::move(path));
  return [kept](const ChangedCase& changed) { return kept->of(changed); };
}

}  // namespace shardsim
