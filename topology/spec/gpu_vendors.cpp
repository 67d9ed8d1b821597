#include "topology/spec/gpu_vendors.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace shardsim {
namespace {

std::vector<std::string> words_in_capitals(std::string_view name) {
  std::string capitals(name);
  std::ranges::transform(capitals, capitals.begin(), [](unsigned char c) {
    return c == ' ' || c == '-' ? '_' : static_cast<char>(std::toupper(c));
  });
  return split(capitals, '_');
}

bool begins_with_digit(std::string_view text) {
  return !text.empty() && text.front() >= '0' && text.front() <= '9';
}

std::string vendor_of_word(std::string_view word) {
  constexpr std::array<std::pair<std::string_view, const char*>, 10> kBeginnings = {{{"RADEON", "AMD"},
                                                                                     {"INSTINCT", "AMD"},
                                                                                     {"GFX", "AMD"},
                                                                                     {"HYGON", "Hygon"},
                                                                                     {"GAUDI", "Habana"},
                                                                                     {"MTHREADS", "Moore Threads"},
                                                                                     {"MOORE", "Moore Threads"},
                                                                                     {"ASCEND", "Huawei"},
                                                                                     {"BIREN", "Biren"},
                                                                                     {"METAX", "MetaX"}}};
  constexpr std::array<std::pair<std::string_view, const char*>, 6> kWords = {
      {{"AMD", "AMD"}, {"INTEL", "Intel"}, {"DCU", "Hygon"}, {"K100", "Hygon"}, {"Z100", "Hygon"}, {"Z100L", "Hygon"}}};
  for (const auto& [beginning, vendor] : kBeginnings)
    if (word.starts_with(beginning)) return vendor;
  for (const auto& [whole, vendor] : kWords)
    if (word == whole) return vendor;
  return word.size() > 3 && word.starts_with("MI") && begins_with_digit(word.substr(2)) ? "AMD" : "";
}

}  // namespace

std::string foreign_gpu_vendor(std::string_view name) {
  for (const std::string& word : words_in_capitals(name))
    if (std::string vendor = vendor_of_word(word); !vendor.empty()) return vendor;
  return "";
}

void refuse_foreign_gpu(const std::string& name, const std::string& option) {
  const std::string vendor = foreign_gpu_vendor(name);
  if (!vendor.empty())
    throw input_error({option}, excerpt(name) + " is a GPU of " + vendor, "Only GPUs of NVIDIA are modelled");
}

}  // namespace shardsim
