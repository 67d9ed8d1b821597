#pragma once

#include <string>

namespace shardsim {

// `text` with every `from`, which is not empty, made `to`.
std::string replaced(std::string text, const std::string& from, const std::string& to);

}  // namespace shardsim
