#include "study/scenario/included_files.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/files.h"
#include "base/text.h"
#include "base/tree/map_reader.h"
#include "base/tree/yaml.h"
#include "study/scenario/case_trees.h"
#include "study/scenario/named_tree.h"

namespace shardsim {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostIncludesInARow = 8;
constexpr std::size_t kMostIncludes = 100;

bool is_same_file(const std::string& a, const std::string& b) {
  std::error_code error;
  return fs::equivalent(a, b, error) && !error;
}

void add_included(const Tree& scenario, const std::string& folder, const Overrides& overrides, std::uint64_t seed,
                  IncludeChain& chain, std::vector<CaseTree>& cases) {
  for (const IncludedFile& file : chain.read(scenario, folder)) {
    const std::string inside = fs::path(file.path).parent_path().string();
    chain.enter(file);
    add_included(file.tree, inside, overrides, seed, chain, cases);
    chain.leave();
    for (CaseTree& each : case_trees(file.tree, inside, overrides, seed).cases) cases.push_back(std::move(each));
  }
}

}  // namespace

IncludeChain::IncludeChain(const std::string& path) : paths_{path} {}

std::string IncludeChain::checked(const Tree& name, const std::string& folder) const {
  const std::string path = path_from(folder, text_leaf(kFileNameRule)(name));
  if (!is_file(path)) {
    throw input_error(name.place, fmt::format("cannot find the scenario {}", excerpt(path)),
                      "Paths are relative to the file that includes them");
  }
  const auto same = std::ranges::find_if(paths_, [&](const std::string& outer) { return is_same_file(outer, path); });
  if (same != paths_.end()) {
    throw input_error(name.place,
                      fmt::format("the files include each other in a circle: {} is inside itself", excerpt(path)),
                      "Remove one of the entries of 'include'");
  }
  if (paths_.size() > kMostIncludesInARow) {
    throw input_error(name.place, fmt::format("more than {} files include each other in a row", kMostIncludesInARow),
                      "Include the innermost ones directly");
  }
  return path;
}

std::vector<IncludedFile> IncludeChain::read(const Tree& scenario, const std::string& folder) {
  const Tree* const names = scenario.find("include");
  if (names == nullptr) return {};
  note_form(*names, {Form::Kind::list, {}, Bounds::from(1)});
  if (names->kind != Tree::Kind::list || names->items.empty()) {
    const bool list = names->kind == Tree::Kind::list;
    throw input_error(names->place, fmt::format("'include' is {}", list ? "empty" : "no list"),
                      "Write the files whose cases are taken, for example [toy.yaml, mixed.yaml]");
  }
  std::vector<IncludedFile> files;
  for (const Tree& name : names->items) {
    if (++count_ > kMostIncludes) {
      throw input_error(name.place, fmt::format("more than {} files are included", kMostIncludes), "Include fewer");
    }
    IncludedFile file{checked(name, folder), "", {}};
    file.text = read_file(file.path);
    file.tree = parse_yaml(file.text, file.path);
    MapReader(file.tree, "").choice("schema", {"shardsim.scenario/1"});
    files.push_back(std::move(file));
  }
  return files;
}

Overrides overrides_of_included(const Overrides& overrides) {
  Overrides inner = overrides;
  std::erase_if(inner.set, [](const auto& setting) {
    const std::string head = split_head(setting.first).first;
    return head == "title" || head == "cross_check" || head == "sweep" || head == "drift" || head == "cases";
  });
  return inner;
}

std::vector<CaseTree> included_case_trees(const Tree& scenario, const std::string& path, const Overrides& overrides,
                                          std::uint64_t seed) {
  IncludeChain chain(path);
  std::vector<CaseTree> cases;
  add_included(scenario, fs::path(path).parent_path().string(), overrides_of_included(overrides), seed, chain, cases);
  return cases;
}

void refuse_idle_keys_beside_include(const Tree& scenario) {
  if (scenario.find("include") == nullptr || scenario.find("cases") != nullptr) return;
  for (const auto& [key, value] : scenario.fields) {
    static const std::set<std::string> kOfTheFile{"schema",      "title", "seed", "include",
                                                  "cross_check", "sweep", "drift"};
    if (kOfTheFile.contains(key)) continue;
    throw input_error(
        value.place, fmt::format("'{}' has no effect: the file has no cases of its own", key),
        "An included case keeps what its own file says. Write 'cases' in this file, or leave the key out");
  }
}

}  // namespace shardsim
