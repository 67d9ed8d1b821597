#include "accuracy/measurements/read/gpu_names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include "base/text.h"
#include "topology/spec/gpu_models.h"

namespace shardsim {
namespace {

std::string upper(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return result;
}

std::vector<std::string> name_words(std::string_view name) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : upper(name)) {
    if (c != ' ' && c != '-' && c != '_') {
      word += c;
    } else if (!word.empty()) {
      words.push_back(std::move(word));
      word.clear();
    }
  }
  if (!word.empty()) words.push_back(std::move(word));
  return words;
}

bool has_digit(const std::string& word) {
  return word.find_first_of("0123456789") != std::string::npos;
}

}  // namespace

bool is_foreign_gpu(std::string_view name) {
  return !is_processor(name) && !foreign_gpu_vendor(name).empty();
}

bool is_processor(std::string_view name) {
  static constexpr std::array<std::string_view, 9> kWords = {"CPU",  "EPYC", "OPTERON",   "RYZEN",   "THREADRIPPER",
                                                             "XEON", "CORE", "PROCESSOR", "NEOVERSE"};
  return std::ranges::any_of(name_words(name), [](const std::string& word) {
    return std::ranges::any_of(kWords, [&](std::string_view known) { return word.starts_with(known); });
  });
}

std::string gpu_product(std::string_view name) {
  static constexpr std::array<std::string_view, 6> kVendors = {"NVIDIA", "TESLA", "GEFORCE",
                                                               "QUADRO", "GRID",  "CORPORATION"};
  std::string series;
  for (const std::string& word : name_words(name)) {
    if (std::ranges::find(kVendors, word) != kVendors.end()) continue;
    if (word == "RTX" || word == "PRO") {
      series += word;
      continue;
    }
    if (!has_digit(word)) return "";
    return series + word;
  }
  return "";
}

}  // namespace shardsim
