#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/tree/tree.h"
#include "sim/scenario/scenario.h"

namespace shardsim {

// One edit that the command line asks for: --set PATH=VALUE, or --seed as a path of its own.
struct Setting {
  std::string path;
  Tree value;  // at the place "argument --set PATH"
};

std::vector<Setting> settings_of(const Overrides& overrides);

// "a.b.c" as "a" (hyphens read as underscores) and "b.c".
std::pair<std::string, std::string> split_head(const std::string& path);

// "3.planner.cut", what follows `cases.`, as 3 and "planner.cut"; nothing when it addresses no key of a case.
std::optional<std::pair<std::size_t, std::string>> case_path(const std::string& path);

// Refuses paths that do not begin with one of `keys` or with the number of one of so many cases.
void check_settings(const std::vector<Setting>& settings, const std::vector<std::string>& keys, std::size_t cases);

// Leaves only the cases at these positions, and with a job those beside it on its fabric, without which it would be
// another simulation. A case whose `relative_to` is left out stays, and its result says so.
void keep_cases(Scenario& scenario, const std::vector<std::size_t>& kept);

// The value of a key of the scenario's top level: the last setting of it, else the file's; null when neither has it.
Tree top_value(const Tree& scenario, const std::string& key, const Overrides& overrides);

}  // namespace shardsim
