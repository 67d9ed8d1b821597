#pragma once

#include <cstdint>
#include <string>

#include "base/text.h"
#include "base/tree/yaml_text.h"
#include "base/units.h"

namespace shardsim {

// A quantity as a file writes it, exactly: reading it gives the same number. In the unit of people where that is exact.
std::string exact_text(Bytes bytes);
std::string exact_text(Seconds time);
std::string exact_text(Bandwidth rate);
std::string exact_text(Flops rate);

// The same as YAML, which has numbers without quotes.
inline std::string exact_yaml(std::int64_t count) {
  return std::to_string(count);
}
inline std::string exact_yaml(int count) {
  return std::to_string(count);
}
inline std::string exact_yaml(double number) {
  return shortest(number);
}
template <typename Quantity>
std::string exact_yaml(const Quantity& quantity) {
  return in_yaml_quotes(exact_text(quantity));
}

}  // namespace shardsim
