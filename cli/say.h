#pragma once

#include <cstdio>
#include <string>

namespace shardsim {

// A line on stderr, after what stdout was given: where both go to one file, lines stay whole and in order.
inline void say(const std::string& line) {
  std::fflush(stdout);
  std::fputs((line + "\n").c_str(), stderr);
}

}  // namespace shardsim
