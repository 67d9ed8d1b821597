#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "study/notes/notes.h"

namespace shardsim {

Notes published_note(const Known& known) {
  const Case& item = known.item;
  Notes notes;
  if (item.changed && !item.published.empty()) {
    notes.emplace_back(
        "The published numbers belong to the scenario as it is written. --set changed its cluster or workload, so "
        "their errors now concern another machine or model.");
  }
  if (item.workload.has_runtime() || !item.payload_both) return notes;
  const auto count = std::count_if(item.published.begin(), item.published.end(),
                                   [](const Published& published) { return published.at_observed_payload; });
  if (count == 0) return notes;
  notes.push_back(
      fmt::format("{} of the published numbers are of the observed payload, which workload '{}' does not state (key "
                  "'runtime' of its tables). They are compared only with the planned payload.",
                  count, item.workload.name));
  return notes;
}

// A misspelt operation has no time that a published one could be compared with.
Notes operations_note(const Known& known) {
  Notes notes;
  std::vector<std::string> operations;
  for (const NamedTime& time : known.result->times) operations.push_back(time.name);
  for (const Published& published : known.item.published) {
    if (!published.quantity.starts_with(kOperationPrefix)) continue;
    const std::string name = published.quantity.substr(kOperationPrefix.size());
    if (std::ranges::find(operations, name) != operations.end()) continue;
    notes.push_back(fmt::format("'{}' is published, and no operation of this case has that name. {}",
                                published.quantity, known_names_hint(name, operations)));
  }
  return notes;
}

}  // namespace shardsim
