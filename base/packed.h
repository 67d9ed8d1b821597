#pragma once

#include <array>
#include <concepts>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/error.h"

namespace shardsim {

// Values as bytes, for the pipe between two processes of one program on one machine: numbers as the machine holds them,
// lists and texts after their length, nothing named. Reading back what was packed gives an equal value.
//
// A struct says its members once, for packing, unpacking and every other form it has, in a template that argument
// lookup finds:
//
//     template <typename Visitor>
//     void fields(Visitor& visit, MaybeConst<Span> auto& span) {
//       visit(span.start_us, span.end_us);        // members that only the packed form holds
//       visit.field("bytes", span.bytes);         // members that forms with names hold, too
//     }
//
// Forms with names (base/tree/json_fields.h) have more to say: `group` puts members under a name of their own,
// `group_if` and `group_or_null` do so for what may be absent, `scaled` and `word` write a number in another unit and a
// flag as a word, `nullable` writes null for what is absent, `take` leaves out what is as it is by default. What such a
// form derives from several members (`derived`), or holds in another shape (`view`: how to get that shape from the
// object, and how to set the object from it), is nothing to pack.
template <typename Type, typename Value>
concept MaybeConst = std::same_as<std::remove_const_t<Type>, Value>;  // the value to write from, or to read into

// What Packer and Unpacker make of names: nothing.
template <typename Self>
class UnnamedFields {
 public:
  template <typename... Values>
  void operator()(Values&... values) {
    (self().each(values), ...);
  }
  void field(std::string_view, auto& value) { self().each(value); }
  void nullable(std::string_view, auto& value) { self().each(value); }
  void take(std::string_view, auto& value) { self().each(value); }
  void scaled(std::string_view, auto& value, double) { self().each(value); }
  void word(std::string_view, auto& flag, const char*, const char*) { self().each(flag); }
  void group(std::string_view, auto members) { members(self()); }
  void group_or_null(std::string_view, bool, auto members) { members(self()); }
  template <typename Item>
  void group_if(std::string_view, Item& item, auto members) {
    self().presence(item);
    if (item) members(self(), *item);
  }
  void derived(std::string_view, auto) {}
  void view(std::string_view, auto&, auto, auto) {}

 private:
  Self& self() { return static_cast<Self&>(*this); }
};

class Packer : public UnnamedFields<Packer> {
 public:
  explicit Packer(std::string& out) : out_(out) {}

  template <typename Value>
  void each(const Value& value) {
    if constexpr (std::is_arithmetic_v<Value> || std::is_enum_v<Value>) {
      raw(&value, sizeof value);
    } else {
      fields(*this, value);
    }
  }
  void each(const std::string& text) {
    each(text.size());
    out_ += text;
  }
  template <typename Item>
  void each(const std::vector<Item>& items) {
    each(items.size());
    if constexpr (std::is_arithmetic_v<Item>) {
      raw(items.data(), items.size() * sizeof(Item));
    } else {
      for (const Item& item : items) each(item);
    }
  }
  template <typename Item, std::size_t kItems>
  void each(const std::array<Item, kItems>& items) {
    for (const Item& item : items) each(item);
  }
  template <typename Value>
  void each(const std::map<std::string, Value>& entries) {
    each(entries.size());
    for (const auto& [key, value] : entries) each(key), each(value);
  }
  template <typename Value>
  void each(const std::optional<Value>& value) {
    presence(value);
    if (value) each(*value);
  }
  template <typename Value>
  void presence(const std::optional<Value>& value) {
    each(value.has_value());
  }

 private:
  void raw(const void* bytes, std::size_t count) { out_.append(static_cast<const char*>(bytes), count); }

  std::string& out_;
};

class Unpacker : public UnnamedFields<Unpacker> {
 public:
  explicit Unpacker(std::string_view rest) : rest_(rest) {}

  template <typename Value>
  void each(Value& value) {
    if constexpr (std::is_arithmetic_v<Value> || std::is_enum_v<Value>) {
      std::memcpy(&value, next(sizeof value).data(), sizeof value);
    } else {
      fields(*this, value);
    }
  }
  void each(bool& flag) {
    const char raw = next(1)[0];
    if (raw != 0 && raw != 1) fail();
    flag = raw == 1;
  }
  void each(std::string& text) { text = next(length()); }
  template <typename Item>
  void each(std::vector<Item>& items) {
    items.resize(length());
    for (Item& item : items) each(item);
  }
  template <typename Item, std::size_t kItems>
  void each(std::array<Item, kItems>& items) {
    for (Item& item : items) each(item);
  }
  template <typename Value>
  void each(std::map<std::string, Value>& entries) {
    for (std::size_t left = length(); left > 0; --left) {
      std::string key;
      each(key);
      each(entries[key]);
    }
  }
  template <typename Value>
  void each(std::optional<Value>& value) {
    presence(value);
    if (value) each(*value);
  }
  template <typename Value>
  void presence(std::optional<Value>& value) {
    bool there = false;
    each(there);
    if (there) value.emplace();
  }

  bool finished() const { return rest_.empty(); }
  [[noreturn]] static void fail() {
    throw run_error("a worker process sent a broken result: its fields do not add up to its length", "Run again");
  }

 private:
  std::string_view next(std::size_t count) {
    if (count > rest_.size()) fail();
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  // No item is shorter than a byte, so a length beyond what is left is broken: nothing is allocated for it.
  std::size_t length() {
    std::size_t count = 0;
    each(count);
    if (count > rest_.size()) fail();
    return count;
  }

  std::string_view rest_;
};

template <typename Value>
std::string packed(const Value& value) {
  std::string bytes;
  Packer(bytes).each(value);
  return bytes;
}

// Errors: Failure::run when the bytes are not what `packed` made of such a value.
template <typename Value>
Value unpacked(std::string_view bytes) {
  Unpacker unpacker(bytes);
  Value value{};
  unpacker.each(value);
  if (!unpacker.finished()) Unpacker::fail();
  return value;
}

}  // namespace shardsim
