#include "topology/spec/spec_writer.h"

#include <fmt/format.h>

namespace shardsim {
namespace {

// A list or map that states its source has no text of its own in the source entry.
std::string sourced(const SourcedValue& source, const std::string& text) {
  std::string map = "{value: " + (source.value.empty() ? text : yaml_quoted(source.value));
  map += ", source: " + yaml_quoted(source.source);
  if (source.fitted) map += ", fitted: true";
  std::vector<std::string> rows;
  for (const std::string& row : source.fitted_on) rows.push_back(yaml_quoted(row));
  if (!rows.empty()) map += ", fitted_on: [" + join(rows) + "]";
  if (source.rows_used > 0) map += fmt::format(", rows_used: {}", source.rows_used);
  if (source.error_unused_pct) map += ", error_unused_pct: " + shortest(*source.error_unused_pct);
  return map + "}";
}

}  // namespace

std::string SpecWriter::item(const std::string& key, std::size_t index, const Fields& fields) {
  std::vector<std::string> texts;
  path_.push_back(fmt::format("{}.{}", key, index));
  for (const auto& [name, text] : fields) texts.push_back(name + ": " + value(name, text));
  path_.pop_back();
  return "{" + join(texts) + "}";
}

void SpecWriter::put_list(const std::string& key, const std::vector<std::string>& items) {
  if (items.empty() || is_sourced(path_of(key))) return put(key, "[" + join(items) + "]");
  line(key + ":");
  for (const std::string& text : items) line("  - " + text);
}

std::string SpecWriter::path_of(const std::string& key) const {
  return path_.empty() ? key : join(path_, ".") + "." + key;
}

const SourcedValue* SpecWriter::source_of(const std::string& path) const {
  for (const SourcedValue& source : sources_) {
    if (source.path == path) return &source;
  }
  return nullptr;
}

std::string SpecWriter::value(const std::string& key, const std::string& text) const {
  const SourcedValue* source = source_of(path_of(key));
  return source == nullptr ? text : sourced(*source, text);
}

}  // namespace shardsim
