#pragma once

#include <string>

#include "base/schema/part.h"

namespace shardsim {

// The JSON Schema (draft 2020-12, https://json-schema.org/draft/2020-12) of a kind of file: what `root` says, with
// those of `parts` that it leads to. It is never stricter than the readers that were asked; where they judge several
// keys together it is more lenient.
std::string json_schema(const std::string& title, const Shape& root, const Parts& parts);

}  // namespace shardsim
