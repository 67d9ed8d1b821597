#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/map_reader.h"
#include "base/text.h"

namespace shardsim {

// The implementation that a map asks for by its `name`, made by its row in an interface's table; a row has a name and a
// `make` that reads its own options. `what` names the interface in messages ("planner").
// Errors (Failure::input): unknown name (lists the known ones), unknown options, and what `make` finds.
template <typename Entry>
auto make_named(std::span<const Entry> table, const Tree& options, const std::string& what) {
  MapReader reader(options, what);
  const std::string name = reader.text("name");
  std::vector<std::string> known;
  for (const Entry& entry : table) {
    known.emplace_back(entry.name);
    if (entry.name != name) continue;
    auto made = entry.make(reader);
    reader.finish();
    return made;
  }
  throw input_error(reader.place_of("name"), "unknown " + what + " '" + name + "'", known_names_hint(name, known));
}

}  // namespace shardsim
