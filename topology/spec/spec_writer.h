#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/map_reader.h"
#include "base/text.h"
#include "topology/spec/exact_text.h"

namespace shardsim {

// Writes the maps of a cluster file: keeps the indentation and knows which values state their source.
class SpecWriter {
 public:
  explicit SpecWriter(const std::vector<SourcedValue>& sources) : sources_(sources) {}

  const std::string& text() const { return text_; }
  bool is_sourced(const std::string& path) const { return source_of(path) != nullptr; }

  void open(const std::string& key) {
    line(key + ":");
    path_.push_back(key);
  }
  void close() { path_.pop_back(); }

  // `text` as YAML, or the map form of the value when it states its source.
  void put(const std::string& key, const std::string& text) { line(key + ": " + value(key, text)); }
  void put_text(const std::string& key, const std::string& text) { put(key, yaml_quoted(text)); }
  template <typename Quantity>
  void put_quantity(const std::string& key, Quantity quantity) {
    put_text(key, exact_text(quantity));
  }
  void put_real(const std::string& key, double number) { put(key, shortest(number)); }
  void put_count(const std::string& key, std::int64_t count) { put(key, std::to_string(count)); }
  void put_flag(const std::string& key, bool flag) { put(key, flag ? "true" : "false"); }

  using Fields = std::vector<std::pair<std::string, std::string>>;
  // One entry of a list as a map on one line.
  std::string item(const std::string& key, std::size_t index, const Fields& fields);
  // One item a line, but for lists that state their source.
  void put_list(const std::string& key, const std::vector<std::string>& items);
  void line(const std::string& text) { text_ += std::string(2 * path_.size(), ' ') + text + "\n"; }

 private:
  const SourcedValue* source_of(const std::string& path) const;
  std::string path_of(const std::string& key) const;
  std::string value(const std::string& key, const std::string& text) const;

  const std::vector<SourcedValue>& sources_;
  std::vector<std::string> path_;
  std::string text_;
};

}  // namespace shardsim
