#pragma once

#include <string>

#include "base/schema/shape.h"

namespace shardsim {

// The keys of a described map and of the maps inside it as Markdown tables (key, type, default, meaning), in the
// notation of docs/formats/conventions.md. Each follows a line with the dotted path of its map, "<!-- keys nvlink -->",
// where the maps in a list have the path of the list. Maps with the same keys have one table, at the first path.
std::string reference_tables(const Shape& root, const std::string& path);

}  // namespace shardsim
