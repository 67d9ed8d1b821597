// torchrec_golden FILE: recomputes every case of a golden file of TorchRec's planner (README.md beside this file says
// its form) and compares. Prints what differs; the last line reads "N passed, N failed". Exit 0: all passed, 1: some
// failed, 2: no such file, or no golden file.

#include <fmt/format.h>

#include <cstdio>
#include <exception>

#include "base/error.h"
#include "base/files.h"
#include "tests/plan/torchrec/golden/kinds.h"

namespace shardsim::golden {
namespace {

constexpr const char* kFormat = "shardsim TorchRec planner golden cases 1";
constexpr std::size_t kShown = 8;  // differences of one case

std::vector<std::string> check_case(const Json& item) {
  try {
    Fields fields(item, "case");
    const std::string name = fields.text("kind");
    fields.ignore({"id", "origin", "note"});
    const Json& input = fields.at("input");
    const Json& expect = fields.at("expect");
    fields.finish();
    if (expect.empty()) return {"it expects nothing"};
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

// Errors: Failure::input or run for what cannot be read, is cut off, or is no golden file of this form.
Json cases_of(const std::string& path) {
  Json root;
  try {
    root = Json::parse(read_file(path));
  } catch (const Json::parse_error& error) {
    throw input_error({path}, std::string("no whole JSON: ") + error.what(), "Copy the file again");
  }
  const bool cases = root.is_object() && root.contains("cases") && root.at("cases").is_array();
  if (!cases || root.at("cases").empty())
    throw input_error({path}, "no golden file", "A JSON map with a list \"cases\" that is not empty is due");
  const Json& schema = root.contains("schema") ? root.at("schema") : Json::object();
  if (schema.is_object() && schema.value("format", Json(kFormat)) != kFormat)
    throw input_error({path}, "schema.format is " + schema.at("format").dump(),
                      std::string("This program reads ") + kFormat);
  return root.at("cases");
}

int run(const char* path) {
  const Json cases = cases_of(path);
  std::size_t passed = 0;
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
  try {
    return shardsim::golden::run(argv[1]);
  } catch (const shardsim::Error& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 2;
  }
}
