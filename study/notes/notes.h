#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "study/notes/without_duplicates.h"
#include "study/planning/prepared_case.h"
#include "study/result/result.h"

namespace shardsim {

using Notes = std::vector<std::string>;  // sentences, each a note of its own

// The facts of a case that are known where notes on it are asked for.
struct Known {
  const Case& item;
  const PreparedCase* prepared = nullptr;                 // with its cluster, its plan and its Program
  const CaseResult* result = nullptr;                     // of its simulation
  const WithoutDuplicates* without_duplicates = nullptr;  // where it was simulated so, too
};

// Who asks, and so what is known.
enum class Asker {
  run,      // everything; also of each job of a fabric
  check,    // a case that could be run: `prepared`
  plan,     // before the plan is made: the case alone
  planned,  // behind it: `prepared`
  sweep,    // a point: the case alone
  drift,    // the case alone
  why,      // the case alone
};

// Returns the notes that are meant for `asker`, which a reader of the case's numbers must know beside them, in the
// order of the table. Errors: those of a plan that cannot be lowered or simulated, of `check` and `planned`.
Notes notes_for(Asker asker, const Known& known);

// Makes the sentences of one note; none, or "", where there is nothing to say.
using NoteMaker = Notes(const Known& known);

struct NoteEntry {
  std::string_view name;
  unsigned askers;  // bits, by Asker
  NoteMaker* make;

  bool is_for(Asker asker) const { return (askers >> static_cast<unsigned>(asker) & 1U) != 0; }
};

std::span<const NoteEntry> note_entries();  // in the order in which they are said

// Those of a workload by itself, in a case or not.
Notes workload_notes(const Workload& workload);

}  // namespace shardsim
