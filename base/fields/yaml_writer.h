#pragma once

#include <string>
#include <vector>

#include "base/tree/map_reader.h"

namespace shardsim {

// The text of a YAML file as it grows: keeps the indentation and knows which values state their source.
class YamlWriter {
 public:
  explicit YamlWriter(const std::vector<SourcedValue>& sources) : sources_(sources) {}

  const std::string& text() const { return text_; }
  bool is_sourced(std::string_view key) const { return source_of(path_of(key)) != nullptr; }

  void open(std::string_view key) {
    line(std::string(key) + ":");
    path_.emplace_back(key);
  }
  void close() { path_.pop_back(); }

  // `text` as YAML, or the map form of the value when it states its source.
  void put(std::string_view key, const std::string& text);

  // The maps of a list, one a line: the keys that are put between the two are one entry.
  void open_item(std::string_view key, std::size_t index);
  std::string close_item();
  // One item a line, but for lists that state their source.
  void put_list(std::string_view key, const std::vector<std::string>& items);

 private:
  void line(const std::string& text) { text_ += std::string(2 * path_.size(), ' ') + text + "\n"; }
  const SourcedValue* source_of(const std::string& path) const;
  std::string path_of(std::string_view key) const;

  const std::vector<SourcedValue>& sources_;
  std::vector<std::string> path_;
  bool in_item_ = false;
  std::vector<std::string> item_;
  std::string text_;
};

}  // namespace shardsim
