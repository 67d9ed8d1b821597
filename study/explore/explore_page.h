#pragma once

#include <string>

#include "study/explore/explorer.h"

namespace shardsim {

// The page of `shardsim explore`, whole: style, scripts, and where it begins, with the case `first` chosen. Its scripts
// ask the server that it came from, and nobody else (docs/explore.md). `nonce`: what a Content-Security-Policy lets its
// scripts run by. Errors: Failure::run naming a file of the plots folder that is missing.
std::string explore_page(const Explorer& explorer, const std::string& first, const std::string& restart,
                         const std::string& nonce);

}  // namespace shardsim
