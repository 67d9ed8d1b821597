#pragma once

#include <doctest/doctest.h>

#include <string>

namespace shardsim {

// The text with the first `from`, which it has, made `to`.
inline std::string edited(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace shardsim
