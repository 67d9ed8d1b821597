#include "base/workers.h"
#include "cli/arguments/arguments.h"
#include "cli/arguments/process.h"
#include "cli/commands/all.h"
#include "study/schema/file_schema.h"

namespace shardsim {
namespace {

int schema(const Arguments& given, const Terminal& terminal) {
  print_result(file_schema(given.positional()[0], [&] { throw_if_interrupted(terminal.interrupted); }));
  return 0;
}

}  // namespace

Command schema_command() {
  return {.name = "shardsim schema",
          .summary = "print the JSON Schema of a kind of file, with which editors complete and check it",
          .positionals = {{"KIND", "The kind of file.", false, schema_kinds()}},
          .notes =
              "The schemas are installed in share/shardsim/schemas/. In a YAML file, the first line\n"
              "  # yaml-language-server: $schema=PATH/scenario.schema.json\n"
              "makes editors with the YAML language server use one.\n",
          .examples = {"shardsim schema scenario", "shardsim schema cluster"},
          .run = schema};
}

}  // namespace shardsim
