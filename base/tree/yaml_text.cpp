#include "base/tree/yaml_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace shardsim {
namespace {

// In quotes where it would read as something else.
std::string flow_scalar(const Tree& tree) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
           c == '-' || c == '+' || c == '/' || c == '%' || c == ' ' || c == '*';
  };
  const std::string& text = tree.scalar;
  const bool bare = !tree.quoted && !text.empty() && std::ranges::all_of(text, plain);
  if (bare) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c == '\n' ? ' ' : c;
  }
  return quoted + "\"";
}

}  // namespace

std::string in_yaml_quotes(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') result += '\\';
    if (c == '\n') {
      result += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      result += fmt::format("\\x{:02x}", byte);
    } else {
      result += c;
    }
  }
  return result + "\"";
}

std::string flow_text(const Tree& tree) {
  std::string text;
  switch (tree.kind) {
    case Tree::Kind::null:
      return "~";
    case Tree::Kind::scalar:
      return flow_scalar(tree);
    case Tree::Kind::list:
      for (const Tree& item : tree.items) text += (text.empty() ? "" : ", ") + flow_text(item);
      return "[" + text + "]";
    case Tree::Kind::map:
      for (const auto& [key, value] : tree.fields) text += (text.empty() ? "" : ", ") + key + ": " + flow_text(value);
      return "{" + text + "}";
  }
  return text;
}

}  // namespace shardsim
