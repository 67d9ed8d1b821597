#include "cli/scenario_arguments.h"

#include <cstdio>

#include "base/files.h"
#include "base/text.h"
#include "base/units.h"

namespace shardsim {

std::vector<OptionSpec> scenario_options() {
  return {{"set", 0, true, true}, {"seed", 0, true, false}, {"memory-model", 0, true, false}};
}

Overrides overrides(const Arguments& arguments) {
  Overrides changes;
  for (const std::string& text : arguments.values("set")) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw input_error(Arguments::place("set"), "'" + text + "' is not PATH=VALUE",
                        "Write for example --set cluster.nodes=8");
    }
    const std::string path = text.substr(0, equals);
    for (const auto& [known, value] : changes.set) {
      if (known == path) throw input_error(Arguments::place("set " + path), "the path is set twice", "Set it once");
    }
    changes.set.emplace_back(path, text.substr(equals + 1));
  }
  if (const auto seed = arguments.value("seed")) {
    for (const auto& [known, value] : changes.set) {
      if (known == "seed") throw input_error(Arguments::place("seed"), "beside --set seed", "Give one of the two");
    }
    changes.seed = static_cast<std::uint64_t>(parse_count(*seed, Arguments::place("seed")));
  }
  changes.memory_model = arguments.value("memory-model").value_or("");
  changes.only_case = arguments.value("case").value_or("");
  return changes;
}

const Case& chosen_case(const Scenario& scenario, const Arguments& arguments) {
  std::vector<std::string> names;
  for (const Case& item : scenario.cases) names.push_back(item.name);
  const auto wanted = arguments.value("case");
  if (!wanted && scenario.cases.size() == 1) return scenario.cases.front();
  if (!wanted) {
    throw input_error(Arguments::place("case"), "the scenario has several cases", "Name one of: " + join(names));
  }
  for (const Case& item : scenario.cases) {
    if (item.name == *wanted) return item;
  }
  throw input_error(Arguments::place("case"), "unknown case '" + *wanted + "'", known_names_hint(*wanted, names));
}

namespace {

// A file may be overwritten when it is one of ours of the same kind.
void require_same_kind(const std::string& path, const std::string& schema) {
  if (!is_there(path)) return;
  if (is_file(path) && read_file(path).find("\"" + schema + "\"") != std::string::npos) return;
  throw input_error({path}, "the file exists and is no " + schema + " file", "Choose another name, or add --force");
}

}  // namespace

void deliver(const std::string& text, const Arguments& arguments, const std::string& schema) {
  const std::string path = arguments.value("output").value_or("-");
  if (path.empty() || is_folder(path)) {
    throw input_error(Arguments::place("output"), path.empty() ? "the name is empty" : excerpt(path) + " is a folder",
                      "Name a file, or - for standard output");
  }
  if (path == "-") {
    std::fwrite(text.data(), 1, text.size(), stdout);
    return;
  }
  if (!arguments.has("force")) require_same_kind(path, schema);
  write_file(path, text);
}

}  // namespace shardsim
