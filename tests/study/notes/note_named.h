#pragma once

#include <algorithm>
#include <string_view>

#include "study/notes/notes.h"

namespace shardsim::notes_test {

// The note of that name in the table, as it is said of `known`.
inline Notes note_named(std::string_view name, const Known& known) {
  return std::ranges::find(note_entries(), name, &NoteEntry::name)->make(known);
}

}  // namespace shardsim::notes_test
