#pragma once

#include <string>
#include <string_view>

#include "base/tree/tree.h"

namespace shardsim {

// Reads one YAML document whose root is a map. Refuses what YAML readers let pass: duplicate keys (also "a-b" beside
// "a_b"), merge keys, several documents, self-references, an expansion over 10,000 aliased nodes, nesting over 64,
// files over 64 MiB, keys over 256 bytes, an empty file, anything that is not UTF-8 text. Hyphens in keys become
// underscores. `source` is the name that messages show. Errors: Failure::input with line and column.
Tree parse_yaml(std::string_view text, const std::string& source);

// The same from a file; a path that cannot be read is an input error naming it.
Tree read_yaml_file(const std::string& path);

// One scalar, list or map as written after --set PATH=; places are `place`.
Tree parse_yaml_value(std::string_view text, const Place& place);

}  // namespace shardsim
