#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/workers.h"
#include "cli/arguments/arguments.h"
#include "cli/arguments/process.h"
#include "cli/commands/all.h"
#include "study/schema/file_schema.h"

namespace shardsim {
namespace {

std::string keys_of(const std::string& kind) {
  const std::vector<std::string> known = described_kinds();
  if (std::ranges::find(known, kind) != known.end()) return file_keys(kind);
  throw input_error(Arguments::place("keys"), fmt::format("{} files have no table of keys", kind),
                    fmt::format("Leave it out, or name another kind: {}", join(known)));
}

int schema(const Arguments& given, const Terminal& terminal) {
  if (given.has("keys")) {
    print_result(keys_of(given.positional()[0]));
    return 0;
  }
  print_result(file_schema(given.positional()[0], [&] { throw_if_interrupted(terminal.interrupted); }));
  return 0;
}

}  // namespace

Command schema_command() {
  return {.name = "shardsim schema",
          .summary = "print the JSON Schema of a kind of file, with which editors complete and check it",
          .positionals = {{"KIND", "The kind of file.", false, schema_kinds()}},
          .options = {{.name = "keys",
                       .help = "Print the keys with their types, defaults and meanings instead, as Markdown tables."}},
          .notes =
              "The schemas are installed in share/shardsim/schemas/. In a YAML file, the first line\n"
              "  # yaml-language-server: $schema=PATH/scenario.schema.json\n"
              "makes editors with the YAML language server use one.\n",
          .examples = {"shardsim schema scenario", "shardsim schema cluster --keys"},
          .run = schema};
}

}  // namespace shardsim
