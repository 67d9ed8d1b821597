#include "validate/microbench/collective_rows.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/text.h"

namespace shardsim {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array kKinds{OpClass::all_reduce, OpClass::all_to_all};  // in the order of their tables

std::pair<OpClass, std::int64_t> key_of(const Json& json, const Journal::Line& line) {
  for (const OpClass kind : kKinds)
    if (json.at("collective") == op_class_name(kind)) return {kind, json.at("bytes")};
  throw no_line_of(line);
}

}  // namespace

void CollectiveRows::take(const Journal::Line& line) {
  const Json json = Json::parse(line.text);
  rows_.try_emplace(key_of(json, line), json.at("text").get<std::string>());
}

// Each row as "KIND BYTES".
std::vector<std::string> CollectiveRows::known() const {
  std::vector<std::string> words;
  for (const auto& [key, row] : rows_)
    words.push_back(fmt::format("{} {}", key.first == kKinds[0] ? 0 : 1, key.second));
  return words;
}

void CollectiveRows::know(const std::string& word) {
  const std::vector<std::string> parts = split(word, ' ');
  rows_[{kKinds.at(std::stoul(parts.at(0))), std::stoll(parts.at(1))}];
}

void CollectiveRows::add(OpClass kind, std::int64_t bytes, const std::string& text) {
  if (keeps()) keep(Json{{"collective", op_class_name(kind)}, {"bytes", bytes}, {"text", text}}.dump());
  rows_[{kind, bytes}] = text;
}

std::string CollectiveRows::text() const {
  std::string all;
  for (const OpClass kind : kKinds)
    for (const auto& [key, row] : rows_)
      if (key.first == kind) all += row;
  return all;
}

}  // namespace shardsim
