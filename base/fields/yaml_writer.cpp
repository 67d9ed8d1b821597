#include "base/fields/yaml_writer.h"

#include <fmt/format.h>

#include <utility>

#include "base/text.h"
#include "base/tree/yaml_text.h"

namespace shardsim {
namespace {

// A list or map that states its source has no text of its own in the source entry.
std::string sourced(const SourcedValue& source, const std::string& text) {
  std::string map = "{value: " + (source.value.empty() ? text : in_yaml_quotes(source.value));
  map += ", source: " + in_yaml_quotes(source.source);
  if (source.fitted) map += ", fitted: true";
  std::vector<std::string> rows;
  for (const std::string& row : source.fitted_on) rows.push_back(in_yaml_quotes(row));
  if (!rows.empty()) map += ", fitted_on: [" + join(rows) + "]";
  if (source.rows_used > 0) map += fmt::format(", rows_used: {}", source.rows_used);
  if (source.error_unused_pct) map += ", error_unused_pct: " + shortest(*source.error_unused_pct);
  return map + "}";
}

}  // namespace

void YamlWriter::put(std::string_view key, const std::string& text) {
  const SourcedValue* source = source_of(path_of(key));
  const std::string entry = std::string(key) + ": " + (source == nullptr ? text : sourced(*source, text));
  if (in_item_) return item_.push_back(entry);
  line(entry);
}

void YamlWriter::open_item(std::string_view key, std::size_t index) {
  path_.push_back(fmt::format("{}.{}", key, index));
  in_item_ = true;
}

std::string YamlWriter::close_item() {
  path_.pop_back();
  in_item_ = false;
  return "{" + join(std::exchange(item_, {})) + "}";
}

void YamlWriter::put_list(std::string_view key, const std::vector<std::string>& items) {
  if (in_item_ || items.empty() || is_sourced(key)) return put(key, "[" + join(items) + "]");
  line(std::string(key) + ":");
  for (const std::string& text : items) line("  - " + text);
}

std::string YamlWriter::path_of(std::string_view key) const {
  return path_.empty() ? std::string(key) : fmt::format("{}.{}", fmt::join(path_, "."), key);
}

const SourcedValue* YamlWriter::source_of(const std::string& path) const {
  for (const SourcedValue& source : sources_) {
    if (source.path == path) return &source;
  }
  return nullptr;
}

}  // namespace shardsim
