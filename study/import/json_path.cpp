#include "study/import/json_path.h"

#include <fmt/format.h>

#include <algorithm>

namespace shardsim {
namespace {

bool is_plain_key(const std::string& key) {
  return !key.empty() && std::ranges::all_of(key, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

bool find_place(const Tree& tree, const Place& place, std::string& path) {
  if (tree.place == place) return true;
  const std::size_t length = path.size();
  for (const auto& [key, value] : tree.fields) {
    path += is_plain_key(key) ? "." + key : "['" + key + "']";
    if (find_place(value, place, path)) return true;
    path.resize(length);
  }
  for (std::size_t i = 0; i < tree.items.size(); ++i) {
    path += fmt::format("[{}]", i);
    if (find_place(tree.items[i], place, path)) return true;
    path.resize(length);
  }
  return false;
}

int last_line(const Tree& tree) {
  int line = tree.place.line;
  if (!tree.fields.empty()) line = std::max(line, last_line(tree.fields.back().second));
  if (!tree.items.empty()) line = std::max(line, last_line(tree.items.back()));
  return line;
}

}  // namespace

std::string json_path(const Tree& root, const Place& place) {
  if (root.place == place) return "";
  std::string path = "$";
  return find_place(root, place, path) ? path : "";
}

Error told_with_path(const Error& error, const Tree& root) {
  if (error.place().source != root.place.source || error.place().column == 0 || last_line(root) != root.place.line)
    return error;
  const std::string path = json_path(root, error.place());
  if (path.empty()) return error;
  const std::string where = error.place().text() + ": ";
  std::string said = error.what();
  if (said.starts_with(where)) said.erase(0, where.size());
  return {error.failure(), error.place(), path + ": " + said, ""};
}

}  // namespace shardsim
