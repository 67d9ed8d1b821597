#pragma once

#include <string>

namespace shardsim {

// `text` with every `from`, which is not empty, made `to`.
std::string replaced(std::string text, const std::string& from, const std::string& to);

// The word in single quotes, as shells of the family of sh read it back.
std::string shell_quoted(const std::string& word);

// The same, in quotes only where a shell would not read the word as it stands.
std::string shell_word(const std::string& word);

}  // namespace shardsim
