#include "cli/commands/shared.h"

#include <cstdio>

#include "base/files.h"
#include "base/text.h"
#include "base/units.h"

namespace shardsim {
namespace {

void add_setting(Overrides& changes, const std::string& text) {
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

void require_same_kind(const std::string& path, const std::string& mark) {
  if (!is_there(path)) return;
  if (is_file(path) && read_file(path).find(mark) != std::string::npos) return;
  throw input_error({path}, "the file exists and is of another kind", "Choose another name, or add --force");
}

}  // namespace

std::vector<Option> scenario_options() {
  return {{"set", 0, "PATH=VALUE", "Change one value of the scenario, e.g. cluster.nodes=8.", "", Option::Times::any},
          {"seed", 0, "N", "Use this seed instead of the scenario's."},
          {"memory-model", 0, "NAME", "Use this memory model instead of the scenario's."}};
}

Option case_option() {
  return {"case", 0, "NAME", "Which case: it is needed where there are several."};
}

Option force_option() {
  return {"force", 0, "", "Overwrite a file of another kind."};
}

Option output_file_option() {
  return {"output", 'o', "FILE", "Write this file instead of standard output, which is - here."};
}

Option tolerance_option(const std::string& judged) {
  return {"tolerance", 0, "P%", "Exit with 4 when " + judged + "."};
}

Overrides overrides(const Arguments& given) {
  Overrides changes;
  for (const std::string& text : given.values("set")) add_setting(changes, text);
  if (const auto seed = given.value("seed")) {
    for (const auto& [known, value] : changes.set) {
      if (known == "seed") throw input_error(Arguments::place("seed"), "beside --set seed", "Give one of the two");
    }
    changes.seed = static_cast<std::uint64_t>(parse_count(*seed, Arguments::place("seed")));
  }
  if (given.has("memory-model")) changes.memory_model = given.text("memory-model");
  changes.only_case = given.text("case");
  return changes;
}

const Case& chosen_case(const Scenario& scenario, const Arguments& given) {
  std::vector<std::string> names;
  for (const Case& item : scenario.cases) names.push_back(item.name);
  const auto wanted = given.value("case");
  if (!wanted && scenario.cases.size() == 1) return scenario.cases.front();
  if (!wanted)
    throw input_error(Arguments::place("case"), "the scenario has several cases", "Name one of: " + join(names));
  for (const Case& item : scenario.cases) {
    if (item.name == *wanted) return item;
  }
  throw input_error(Arguments::place("case"), "unknown case '" + *wanted + "'", known_names_hint(*wanted, names));
}

void deliver(const std::string& text, const Arguments& given, const std::string& mark) {
  const std::string path = given.value("output").value_or("-");
  if (path.empty() || is_folder(path)) {
    throw input_error(Arguments::place("output"), path.empty() ? "the name is empty" : excerpt(path) + " is a folder",
                      "Name a file, or - for standard output");
  }
  if (path == "-") return print_result(text);
  if (!given.has("force")) require_same_kind(path, mark);
  write_file(path, text);
}

std::filesystem::path output_folder(const Arguments& given, const std::string& command,
                                    const std::filesystem::path& standard) {
  const auto folder = given.value("output");
  if (!folder) return standard;
  if (*folder != "-" && !folder->empty()) return *folder;
  throw input_error(Arguments::place("output"), command + " writes a folder of files, not one text",
                    "Name a folder, or use --json for standard output");
}

std::optional<double> tolerance(const Arguments& given) {
  const auto text = given.value("tolerance");
  if (!text) return std::nullopt;
  const double most = parse_percent(*text, Arguments::place("tolerance"));
  if (most >= 0) return most;
  throw input_error(Arguments::place("tolerance"), excerpt(*text) + " is below 0", "Write 0% or more");
}

void print_note(const std::string& note) {
  std::fputs(("note: " + note + "\n").c_str(), stderr);
}

}  // namespace shardsim
