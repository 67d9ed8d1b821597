#pragma once

#include <string>
#include <string_view>

namespace shardsim {

// A text in YAML's double quotes, with control characters escaped: names of files may hold them, and YAML files not.
std::string in_yaml_quotes(std::string_view text);

}  // namespace shardsim
