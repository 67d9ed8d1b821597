#include "base/case_name.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace shardsim {
namespace {

constexpr std::size_t kMostBytesOfName = 256;
constexpr std::ptrdiff_t kMostParts = 16;  // HDF5 walks over all groups on the way whenever it opens a column

}  // namespace

std::string case_name_fault(std::string_view name) {
  if (name.empty()) return "is empty";
  if (name.size() > kMostBytesOfName) return fmt::format("has over {} bytes", kMostBytesOfName);
  if (std::ranges::count(name, '/') >= kMostParts) return fmt::format("has over {} parts", kMostParts);
  for (const std::string& part : split(name, '/')) {
    if (part.empty()) return "has an empty part";
    if (part == "." || part == "..") return "has the part '" + part + "'";
  }
  const auto controls = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  return std::ranges::any_of(name, controls) ? "holds a control character" : "";
}

}  // namespace shardsim
