#pragma once

#include <string>
#include <string_view>

#include "base/tree/tree.h"

namespace shardsim {

// Reads one value as Python prints it, from `at`: dicts, lists and tuples, texts, numbers, None, enums (<NAME: VALUE>),
// and objects, NAME(KEY=VALUE, ...), which become maps. What is no value of its own, such as rank:0/cuda:0, becomes a
// text. `end` gets where it ends. Errors (Failure::input, with line and column): the text ends before its value does,
// or is nested deeper than 64.
Tree parse_python_value(std::string_view text, const std::string& source, std::size_t at, std::size_t* end = nullptr);

}  // namespace shardsim
