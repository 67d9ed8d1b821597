#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "study/planning/prepared_case.h"
#include "study/why/change.h"
#include "study/why/why.h"

namespace shardsim {

// The changes that would shorten the iterations of a case, its plan kept (docs/why.md).

inline constexpr double kLeverStep = 0.1;  // by which a rate, a cost or an amount moves, relative

// By how much the iteration gets shorter when one lever moves: rates up, costs and amounts down.
struct Elasticity {
  std::string lever;    // LeverWords::key
  std::string name;     // "NIC rate", "lookups of table X"
  std::string table{};  // lookups: of which
  std::optional<double>
      on_path{};       // per cent shorter per per cent, by the path as it is; nothing where it says nothing
  double percent = 0;  // per cent shorter per per cent: of both sides, of the better one where they are uneven
  std::optional<double> better_pct{}, worse_pct{};     // change of the iteration, simulated: 10 % better, 10 % worse
  std::vector<std::string> better_set{}, worse_set{};  // ChangedCase::settings of both
  bool switches = false;  // within 10 % the path becomes another one, so `percent` is of the simulations

  // One side moves the iteration tellingly and more than twice as much as the other: NCCL's choices are steps, and a
  // path may end where another begins.
  bool is_uneven() const;
  // By more than half a per cent; less is as good as nothing.
  bool is_longer_when_better() const { return better_pct && *better_pct > 0.5; }
};

struct Supposed {
  std::string key, text;  // "free_nics", "if the NICs were free"
  double iteration_ms = 0;
  double shorter_pct = 0;
};

struct Help {
  double iteration_ms = 0;                 // simulated, unchanged
  std::vector<Elasticity> elasticities{};  // what shortens most where it is better first
  std::vector<Supposed> supposed{};        // the shortest iteration first
  std::vector<std::string> remarks{};      // what a reader must know beside them
};

// A changed case with the plan of the original.
struct Resimulated {
  double iteration_ms = 0;
  std::optional<double> path_ms;  // what the steps of the original's path take now; nothing where it is not known
};
// Errors: as of lowering and simulation.
using Resimulate = std::function<Resimulated(const ChangedCase& changed)>;

// `why`: of the case; its most expensive tables are levers, too, `tables` of them. A change that cannot be simulated is
// left out, with a remark.
Help help_for(const Case& item, const Why& why, const Resimulate& simulate, std::size_t tables = 3);

// A case whose batches are expected ones and that has its cluster for itself. `path`: of its iteration. Both, and what
// is returned, may be used as long as `prepared` is there.
Resimulate resimulation_of(const PreparedCase& prepared, CriticalPath path);

}  // namespace shardsim
