#include "cli/measurement_arguments.h"

#include <cstdio>

#include "base/text.h"

namespace shardsim {

RunHints measurement_hints(const Arguments& given) {
  RunHints result;
  result.system = given.value("system").value_or("");
  const auto name = given.value("kind");
  if (!name) return result;
  result.kind = find_collective_kind(*name);
  if (result.kind) return result;
  throw input_error(Arguments::place("kind"), "unknown collective " + excerpt(*name),
                    known_names_hint(*name, collective_kind_names()));
}

void print_notes(const Measurements& measurements) {
  for (const std::string& note : measurements.notes) std::fputs(("note: " + note + "\n").c_str(), stderr);
}

}  // namespace shardsim
