#include "tests/case_file/case_file.h"

#include <fmt/format.h>

#include <cstdio>
#include <exception>

#include "base/error.h"
#include "base/files.h"

namespace shardsim::golden {
namespace {

constexpr std::size_t kShown = 8;  // differences of one case

std::vector<std::string> found_in(const CaseProgram& program, const Json& item, const Json& root) {
  try {
    return program.differences(item, root);
  } catch (const std::exception& error) {
    return {error.what()};
  }
}

std::string id_of(const Json& item, std::size_t index) {
  const bool named = item.is_object() && item.contains("id") && item.at("id").is_string();
  return named ? item.at("id").get<std::string>() : fmt::format("case {}", index);
}

bool report(const CaseProgram& program, const Json& root, std::size_t index) {
  const Json& item = root.at("cases")[index];
  const std::vector<std::string> found = found_in(program, item, root);
  for (std::size_t i = 0; i < found.size() && i < kShown; ++i) fmt::print("{}: {}\n", id_of(item, index), found[i]);
  if (found.size() > kShown) fmt::print("{}: and {} more\n", id_of(item, index), found.size() - kShown);
  return found.empty();
}

// Errors: Failure::input or run for what cannot be read, is cut off, or is no file of this form.
Json read_cases(const CaseProgram& program, const std::string& path) {
  Json root;
  try {
    root = Json::parse(read_file(path));
  } catch (const Json::parse_error& error) {
    throw input_error({path}, std::string("no whole JSON: ") + error.what(), "Copy the file again");
  }
  const bool cases = root.is_object() && root.contains("cases") && root.at("cases").is_array();
  if (!cases || root.at("cases").empty())
    throw input_error({path}, "no file of cases", "A JSON map with a list \"cases\" that is not empty is due");
  if (!program.knows(root)) {
    const std::string schema = root.contains("schema") ? root.at("schema").dump() : "missing";
    throw input_error({path}, "the schema is " + schema, "This program reads " + program.schema);
  }
  return root;
}

int run(const CaseProgram& program, const char* path) {
  const Json root = read_cases(program, path);
  const std::size_t cases = root.at("cases").size();
  std::size_t passed = 0;
  for (std::size_t i = 0; i < cases; ++i) passed += report(program, root, i) ? 1 : 0;
  fmt::print("{} passed, {} failed\n", passed, cases - passed);
  return passed == cases ? 0 : 1;
}

}  // namespace

int run_case_program(const CaseProgram& program, int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: {} FILE\n", program.name);
    return 2;
  }
  try {
    return run(program, argv[1]);
  } catch (const Error& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 2;
  }
}

}  // namespace shardsim::golden
