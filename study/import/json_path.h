#pragma once

#include <string>

#include "base/tree/tree.h"

namespace shardsim {

// The path of the value that stands at this place, as $.plan['m.ebc'].t.ranks[2]; "" where none does, or the whole.
std::string json_path(const Tree& root, const Place& place);

// An error at a value of a document that stands on one line, where the line says nothing: the same error, with the
// value's path.
Error told_with_path(const Error& error, const Tree& root);

}  // namespace shardsim
