// torchrec_golden FILE: recomputes every case of a golden file of TorchRec's planner (README.md beside this file says
// its form) and compares. Prints what differs; the last line reads "N passed, N failed". Exit 0: all passed, 1: some
// failed, 2: no such file, or no golden file.

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <fstream>

#include "tests/plan/torchrec/golden/kinds.h"

namespace shardsim::golden {
namespace {

constexpr std::size_t kShown = 8;  // differences of one case

std::vector<std::string> check_case(const Json& item) {
  try {
    Fields fields(item, "case");
    const std::string name = fields.text("kind");
    fields.ignore({"id", "origin", "note"});
    const Json& input = fields.at("input");
    const Json& expect = fields.at("expect");
    fields.finish();
    for (const Kind& kind : kinds()) {
      if (kind.name == name) return kind.check(input, expect);
    }
    return {"unknown kind '" + name + "'"};
  } catch (const std::exception& error) {
    return {error.what()};
  }
}

std::string id_of(const Json& item, std::size_t index) {
  const bool named = item.is_object() && item.contains("id") && item.at("id").is_string();
  return named ? item.at("id").get<std::string>() : fmt::format("case {}", index);
}

bool report(const Json& item, std::size_t index) {
  const std::vector<std::string> found = check_case(item);
  for (std::size_t i = 0; i < found.size() && i < kShown; ++i) fmt::print("{}: {}\n", id_of(item, index), found[i]);
  if (found.size() > kShown) fmt::print("{}: and {} more\n", id_of(item, index), found.size() - kShown);
  return found.empty();
}

int run(const char* path) {
  std::ifstream file(path);
  if (!file) {
    fmt::print(stderr, "error: {}: cannot be read. Name a golden file.\n", path);
    return 2;
  }
  const Json root = Json::parse(file, nullptr, false);
  if (!root.is_object() || !root.contains("cases") || !root.at("cases").is_array()) {
    fmt::print(stderr, "error: {}: no golden file: a JSON map with a list \"cases\" is due.\n", path);
    return 2;
  }
  std::size_t passed = 0;
  const Json& cases = root.at("cases");
  for (std::size_t i = 0; i < cases.size(); ++i) passed += report(cases[i], i) ? 1 : 0;
  fmt::print("{} passed, {} failed\n", passed, cases.size() - passed);
  return passed == cases.size() ? 0 : 1;
}

}  // namespace
}  // namespace shardsim::golden

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: torchrec_golden FILE\n");
    return 2;
  }
  return shardsim::golden::run(argv[1]);
}
