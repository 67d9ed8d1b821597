#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "base/tree/asked.h"
#include "base/tree/leaf.h"
#include "base/tree/tree.h"
#include "base/units.h"

namespace shardsim {

// Where a constant comes from: the map form {value, source, fitted, fitted_on, rows_used, error_unused_pct} that any
// number of a cluster or workload file may take.
struct SourcedValue {
  std::string path;  // dotted, e.g. "nvlink.nvb_efficiency"
  std::string value;
  std::string source;
  bool fitted = false;
  std::vector<std::string> fitted_on;
  std::int64_t rows_used = 0;
  std::optional<double> error_unused_pct;

  bool operator==(const SourcedValue&) const = default;
};

// Reads the fields of one map, each by its name and type, and refuses what nobody asked for. Every getter marks its key
// as known; `finish()` throws for keys that stayed unknown, naming the nearest known one. Getters without a fallback
// throw when the key is missing. A key without a value counts as present, and is an error unless a map is expected. All
// errors are Failure::input at the value's place. The tree outlives the reader.
class MapReader {
 public:
  // `path` is the dotted path of the map ("" at the root); used in messages and in SourcedValue::path.
  // `sources` collects the sourced values met; may be null.
  MapReader(const Tree& tree, std::string path, std::vector<SourcedValue>* sources = nullptr);

  bool has(std::string_view key);
  const Tree& tree() const { return tree_; }
  const std::string& path() const { return path_; }
  std::vector<SourcedValue>* sources() const { return sources_; }  // null when nobody collects them

  // The value of a key by the reader of such a scalar; those below are for the usual ones.
  template <typename Value>
  Value get(std::string_view key, const LeafReader<Value>& leaf, const std::optional<Value>& fallback = {});

  std::string text(std::string_view key, const std::optional<std::string>& fallback = {});
  std::string text(std::string_view key, const TextRule& rule);
  std::string name(std::string_view key);  // [a-z0-9_]+, 1 to 64
  std::string choice(std::string_view key, const std::vector<std::string>& allowed,
                     const std::optional<std::string>& fallback = {});
  bool flag(std::string_view key, bool fallback);
  std::int64_t count(std::string_view key, std::optional<std::int64_t> fallback = {});  // 1 or more
  std::int64_t count(std::string_view key, const Bounds& bounds, std::optional<std::int64_t> fallback = {});
  double real(std::string_view key, std::optional<double> fallback = {});
  double real(std::string_view key, const Bounds& bounds, std::optional<double> fallback = {});
  double share(std::string_view key, double fallback);       // 0 to 1
  double efficiency(std::string_view key, double fallback);  // above 0, at most 1
  Bytes bytes(std::string_view key, std::optional<Bytes> fallback = {});
  Seconds time(std::string_view key, std::optional<Seconds> fallback = {});
  Bandwidth rate(std::string_view key, std::optional<Bandwidth> fallback = {});
  Flops flops(std::string_view key);

  // The raw value (a sourced value already reduced to its `value`), or null when absent.
  const Tree* value(std::string_view key);
  const Tree& required(std::string_view key);
  MapReader map(std::string_view key);  // a missing key reads as an empty map
  // Required; must be a list of so many items.
  const std::vector<Tree>& list(std::string_view key, const Bounds& length = Bounds::from(0));
  std::vector<std::string> texts(std::string_view key);  // optional list of texts
  // An optional list of some of `words`, at least one where it is there.
  std::vector<std::string> words(std::string_view key, const std::vector<std::string>& words, const std::string& noun);

  Place place_of(std::string_view key) const;  // of the value, or of the map when absent
  bool is_fitted(std::string_view key);        // a sourced value with fitted: true

  void finish() const;

 private:
  template <typename Value>
  Value read(std::string_view key, const Tree& stated, const LeafReader<Value>& leaf) const;
  std::string dotted(std::string_view key) const;
  void refuse_misspelling_of(std::string_view key) const;
  const Tree& unwrap(const Tree& field, std::string_view key);
  void record(const Tree& sourced, std::string_view key);
  MapReader(const Tree& tree, std::string path, std::vector<SourcedValue>* sources, Place place);

  const Tree& tree_;
  Place place_;  // of the map; of the one around it when the map is missing
  std::string path_;
  std::vector<SourcedValue>* sources_;
  std::vector<std::string> known_;
};

// The same error with the value's name in front, so that the message stands alone.
Error named_error(const Error& error, const std::string& name);

template <typename Value>
Value MapReader::get(std::string_view key, const LeafReader<Value>& leaf, const std::optional<Value>& fallback) {
  note_key(tree_, key, leaf.form, Need::sourced);
  for (const Form& other : leaf.also) note_key(tree_, key, other, Need::sourced);
  if (fallback && !has(key)) return *fallback;
  return read(key, required(key), leaf);
}

template <typename Value>
Value MapReader::read(std::string_view key, const Tree& stated, const LeafReader<Value>& leaf) const {
  try {
    return leaf(stated);
  } catch (const Error& error) {
    throw named_error(error, dotted(key));
  }
}

// The implementation that a map asks for by its `name`, made by its row in an interface's table; a row has a name and a
// `make` that reads its own options. `what` names the interface in messages ("planner").
// Errors (Failure::input): unknown name (lists the known ones), unknown options, and what `make` finds.
template <typename Entry>
auto make_named(std::span<const Entry> table, const Tree& options, const std::string& what) {
  std::vector<std::string> known;
  for (const Entry& entry : table) known.emplace_back(entry.name);
  note_part(options, what, known);
  MapReader reader(options, what);
  const std::string name = reader.text("name");
  for (const Entry& entry : table) {
    if (entry.name != name) continue;
    auto made = entry.make(reader);
    reader.finish();
    return made;
  }
  throw input_error(reader.place_of("name"), "unknown " + what + " '" + name + "'", known_names_hint(name, known));
}

}  // namespace shardsim
