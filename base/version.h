#pragma once

#include <string>

namespace shardsim {

// `git describe` of the build, or the release number outside a checkout.
std::string version();

}  // namespace shardsim
