#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/tree/map_reader.h"

namespace shardsim {

// Values as JSON with names. Who has such a form says its members once, in the order of the file, in a template
// `fields(visitor, value)` that argument lookup finds (base/packed.h explains the visitors); a JsonWriter puts them
// into a map, a JsonReader takes them from one.

// One value of a JSON text that is being written.
class JsonSlot {
 public:
  explicit JsonSlot(nlohmann::ordered_json& json) : json_(&json) {}

  void set(std::string_view text) const;
  void set(double number) const;
  void set(std::int64_t number) const;
  void set(std::uint64_t number) const;
  void set_flag(bool flag) const;
  void set_null() const;
  void make_map() const;
  void make_list() const;
  JsonSlot operator[](std::string_view name) const;  // of a map
  JsonSlot append() const;                           // to a list

 private:
  nlohmann::ordered_json* json_;
};

// Writes the named members of a value into a map.
class JsonWriter {
 public:
  static constexpr bool kReads = false;

  explicit JsonWriter(JsonSlot map) : map_(map) { map_.make_map(); }
  JsonSlot slot(std::string_view name) const { return map_[name]; }
  Place place() const { return {}; }
  Place place_of(std::string_view) const { return {}; }
  // True when the form holds that name; a writer writes it when `wanted`.
  bool there(std::string_view, bool wanted) const { return wanted; }

  void operator()(const auto&...) {}
  template <typename Value>
  void field(std::string_view name, const Value& value) {
    write(slot(name), value);
  }
  template <typename Value>
  void field(std::string_view name, const std::optional<Value>& value) {
    if (value) write(slot(name), *value);
  }
  void nullable(std::string_view name, const std::optional<double>& value) { write(slot(name), value); }
  template <typename Value>
  void take(std::string_view name, const Value& value, bool always = false, const Value& absent = {}) {
    if (always || value != absent) field(name, value);
  }
  void must_have(std::string_view) {}
  void constant(std::string_view name, const std::string& word) { field(name, word); }
  void scaled(std::string_view name, double value, double factor) { field(name, factor * value); }
  void word(std::string_view name, bool flag, const char* no, const char* yes) {
    field(name, std::string(flag ? yes : no));
  }
  void group(std::string_view name, auto members) {
    JsonWriter inner(slot(name));
    members(inner);
  }
  void group_or_null(std::string_view name, bool there, auto members) {
    if (there) return group(name, members);
    slot(name).set_null();
  }
  void group_if(std::string_view name, const auto& value, auto members) {
    if (value) group(name, [&](auto& inner) { members(inner, *value); });
  }
  void list(std::string_view name, auto& items, auto members, bool even_empty = true) {
    if (items.empty() && !even_empty) return;
    slot(name).make_list();
    for (auto& item : items) {
      JsonWriter inner(slot(name).append());
      members(inner, item);
    }
  }
  template <typename Item>
  void named(std::string_view name, std::vector<Item>& items, std::string Item::*key, auto members) {
    JsonWriter outer(slot(name));
    for (Item& item : items) outer.group(item.*key, [&](auto& inner) { members(inner, item); });
  }
  template <typename Index>
  void index(std::string_view name, Index index, const auto& among) {
    if (std::in_range<std::size_t>(index)) field(name, among[static_cast<std::size_t>(index)].name);
  }
  void derived(std::string_view name, auto value) { write(slot(name), value()); }
  void view(std::string_view name, const auto& object, auto get, auto) { field(name, get(object)); }

  template <typename Value>
  static void write(JsonSlot to, const Value& value) {
    if constexpr (std::is_same_v<Value, bool>) {
      to.set_flag(value);
    } else if constexpr (Worded<Value>) {
      to.set(words_of(value).at(static_cast<std::size_t>(value)));
    } else if constexpr (std::unsigned_integral<Value>) {
      to.set(std::uint64_t{value});
    } else if constexpr (std::integral<Value>) {
      to.set(std::int64_t{value});
    } else if constexpr (std::is_same_v<Value, double> || std::is_convertible_v<Value, std::string_view>) {
      to.set(value);
    } else {
      JsonWriter inner(to);
      fields(inner, value);
    }
  }
  template <typename Item>
  static void write(JsonSlot to, const std::vector<Item>& items) {
    to.make_list();
    for (const Item& item : items) write(to.append(), item);
  }
  template <typename Value>
  static void write(JsonSlot to, const std::map<std::string, Value>& entries) {
    to.make_map();
    for (const auto& [name, value] : entries) write(to[name], value);
  }
  template <typename Value>
  static void write(JsonSlot to, const std::optional<Value>& value) {
    if (value) return write(to, *value);
    to.set_null();
  }

 private:
  JsonSlot map_;
};

// Reads the named members of a value from a map. Errors: Failure::input at the value's place. The only number below 0
// that is read is -1, for an `int` that may be none.
class JsonReader {
 public:
  static constexpr bool kReads = true;
  // Strict: every key must be known once finish() is called. Else keys of later versions are passed over.
  enum class Keys { known, any };

  JsonReader(const Tree& tree, std::string path, Keys keys) : reader_(tree, std::move(path)), keys_(keys) {}
  Place place() const { return reader_.tree().place; }
  Place place_of(std::string_view name) const { return reader_.place_of(name); }
  MapReader& reader() { return reader_; }
  bool has(std::string_view name) { return reader_.has(name); }
  bool there(std::string_view name, bool) { return has(name); }
  const Tree& member(std::string_view name);
  void finish() const {
    if (keys_ == Keys::known) reader_.finish();
  }

  void operator()(const auto&...) {}
  template <typename Value>
  void field(std::string_view name, Value& value) {
    const Tree& tree = member(name);
    if constexpr (std::is_same_v<Value, bool>) {
      value = reader_.flag(name, false);
    } else {
      try {
        read(tree, path_of(name), value);
      } catch (const Error& error) {
        throw told_with_name(name, tree, error);
      }
    }
  }
  template <typename Value>
  void field(std::string_view name, std::optional<Value>& value) {
    if (has(name)) field(name, value.emplace());
  }
  void nullable(std::string_view name, std::optional<double>& value) {
    if (member(name).kind != Tree::Kind::null) field(name, value);
  }
  // Reads a member that may be absent, which means the value `absent`.
  template <typename Value>
  void take(std::string_view name, Value& value, bool = false, const Value& absent = {}) {
    if (has(name)) return field(name, value);
    value = absent;
  }
  void must_have(std::string_view name) { member(name); }
  void constant(std::string_view name, const std::string& word) { reader_.choice(name, {word}); }
  void scaled(std::string_view name, double& value, double factor);
  void word(std::string_view name, bool& flag, const char* no, const char* yes) {
    flag = reader_.choice(name, {no, yes}) == yes;
  }
  void group(std::string_view name, auto members) { read_map(member(name), path_of(name), members); }
  void group_or_null(std::string_view name, bool, auto members) {
    if (member(name).kind != Tree::Kind::null) group(name, members);
  }
  void group_if(std::string_view name, auto& value, auto members) {
    if (!has(name)) return;
    value.emplace();
    group(name, [&](auto& inner) { members(inner, *value); });
  }
  template <typename Item>
  void list(std::string_view name, std::vector<Item>& items, auto members, bool even_empty = true) {
    if (!even_empty && !has(name)) return;
    for (const Tree& tree : items_of(member(name))) {
      Item item;
      read_map(tree, path_of(name) + "." + std::to_string(items.size()), [&](auto& inner) { members(inner, item); });
      items.push_back(std::move(item));
    }
  }
  template <typename Item>
  void named(std::string_view name, std::vector<Item>& items, std::string Item::*key, auto members) {
    for (const auto& [entry, tree] : entries(name)) {
      Item item;
      item.*key = entry;
      read_map(tree, path_of(name) + "." + entry, [&](auto& inner) { members(inner, item); });
      items.push_back(std::move(item));
    }
  }
  // The position of what the key names; -1 where a signed one may be none.
  template <typename Index>
  void index(std::string_view name, Index& index, const auto& among) {
    if (std::signed_integral<Index> && !has(name)) return;
    std::string wanted;
    field(name, wanted);
    std::vector<std::string> known;
    for (const auto& item : among) known.push_back(item.name);
    index = static_cast<Index>(position(name, wanted, known));
  }
  void derived(std::string_view, auto) {}
  void view(std::string_view name, auto& object, auto get, auto set) {
    decltype(get(object)) value{};
    field(name, value);
    set_where_there(object, value, set);
  }

  // The entries of a map by name, whatever the names are.
  const std::vector<std::pair<std::string, Tree>>& entries(std::string_view name);
  static const std::vector<Tree>& items_of(const Tree& tree);

 private:
  void read(const Tree& tree, const std::string& path, std::string& text);
  void read(const Tree& tree, const std::string& path, double& number);
  template <std::integral Number>
  void read(const Tree& tree, const std::string&, Number& number) {
    const std::int64_t value = whole(tree, std::is_same_v<Number, int>);
    if (!std::in_range<Number>(value)) refuse_range(tree, value);
    number = static_cast<Number>(value);
  }
  template <Worded Enum>
  void read(const Tree& tree, const std::string&, Enum& value) {
    value = static_cast<Enum>(word_at(tree, words_of(value)));
  }
  template <typename Item>
  void read(const Tree& tree, const std::string& path, std::vector<Item>& items) {
    items.clear();
    for (const Tree& item : items_of(tree)) read(item, path + "." + std::to_string(items.size()), items.emplace_back());
  }
  template <typename Value>
  void read(const Tree& tree, const std::string& path, std::map<std::string, Value>& values) {
    for (const auto& [name, entry] : entries_of(tree, path)) read(entry, path + "." + name, values[name]);
  }
  template <typename Value>
  requires std::is_class_v<Value>
  void read(const Tree& tree, const std::string& path, Value& value) {
    read_map(tree, path, [&](auto& inner) { fields(inner, value); });
  }

  static const std::vector<std::pair<std::string, Tree>>& entries_of(const Tree& tree, std::string_view name);
  void read_map(const Tree& tree, const std::string& path, auto members) {
    JsonReader inner(tree, path, keys_);
    members(inner);
    inner.finish();
  }
  static void set_where_there(auto& object, const auto& value, auto set) { set(object, value); }
  template <typename Value>
  static void set_where_there(auto& object, const std::optional<Value>& value, auto set) {
    if (value) set(object, *value);
  }
  std::string path_of(std::string_view name) const;
  Error told_with_name(std::string_view name, const Tree& tree, const Error& error) const;
  std::size_t position(std::string_view name, const std::string& wanted, const std::vector<std::string>& known) const;
  static std::int64_t whole(const Tree& tree, bool or_none);
  static std::size_t word_at(const Tree& tree, const std::vector<std::string>& words);
  [[noreturn]] static void refuse_range(const Tree& tree, std::int64_t value);

  MapReader reader_;
  Keys keys_;
};

// Throws std::logic_error naming a number that is not finite: nlohmann writes it as null, which would hide a bug as a
// missing figure.
void check_finite(const nlohmann::ordered_json& json, const std::string& path);

}  // namespace shardsim
