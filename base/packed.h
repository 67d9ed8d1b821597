#pragma once

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>

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
// Forms with names (base/tree/json_fields.h) need further functions: `group` puts members under a name of their own,
// `group_if` and `group_or_null` do so for members that may be absent, `scaled` writes a number in another unit, `word`
// a flag as a word, `nullable` null for a member that is absent, and `take` leaves out a member that has its default
// value. The packed form leaves out what a form with names derives from several members (`derived`), and what it holds
// in another shape (`view`: how to get that shape from the object, and how to set the object from it).
template <typename Type, typename Value>
concept MaybeConst = std::same_as<std::remove_const_t<Type>, Value>;  // the value to write from, or to read into

// Forms with names can be asked for a name; the bytes between processes hold every list as it is.
template <typename Visitor>
concept Named = requires(Visitor& visit) {
  visit.must_have("");
};

// True for structs of which a list is packed in one go, as it lies in memory: their members are numbers without gaps
// between them, and any bytes are a valid value.
template <typename Item>
inline constexpr bool kPackedWhole = false;

// Counts the bytes that would be appended to it.
struct CountedBytes {
  std::size_t size = 0;
  void append(const char*, std::size_t count) { size += count; }
};

// Appends values to a std::string (or to CountedBytes), or takes them from the front of a std::string_view; names say
// nothing to it. Errors: Failure::run when the bytes end before the values do.
template <typename Bytes>
class PackedFields {
  static constexpr bool kReads = std::is_same_v<Bytes, std::string_view>;

 public:
  explicit PackedFields(Bytes& bytes) : bytes_(bytes) {}

  template <typename... Values>
  void operator()(Values&... values) {
    (each(values), ...);
  }
  void field(std::string_view, auto& value) { each(value); }
  void nullable(std::string_view, auto& value) { each(value); }
  void take(std::string_view, auto& value) { each(value); }
  void scaled(std::string_view, auto& value, double) { each(value); }
  void word(std::string_view, auto& flag, const char*, const char*) { each(flag); }
  void group(std::string_view, auto members) { members(*this); }
  void group_or_null(std::string_view, bool, auto members) { members(*this); }
  void group_if(std::string_view, auto& item, auto members) {
    if (presence(item)) members(*this, *item);
  }
  void list(std::string_view, auto& items, auto members) {
    const std::size_t count = length_of(items);
    if constexpr (kReads) items.resize(count);
    for (auto& item : items) members(*this, item);
  }
  void derived(std::string_view, auto) {}
  void view(std::string_view, auto&, auto, auto) {}

  [[noreturn]] static void fail() {
    throw run_error("a worker process sent a broken result: its fields do not add up to its length", "Run again");
  }

 private:
  void each(auto& value) {
    using Value = std::remove_cvref_t<decltype(value)>;
    if constexpr (std::is_same_v<Value, bool>) {
      each_flag(value);
    } else if constexpr (std::is_arithmetic_v<Value> || std::is_enum_v<Value>) {
      raw(&value, sizeof value);
    } else if constexpr (requires { value.has_value(); }) {
      if (presence(value)) each(*value);
    } else if constexpr (requires { typename Value::mapped_type; }) {
      each_entry(value);
    } else if constexpr (requires { value.capacity(); }) {  // texts and lists
      each_item(value);
    } else if constexpr (requires { value.max_size(); }) {
      for (auto& item : value) each(item);
    } else {
      fields(*this, value);
    }
  }

  void each_flag(auto& flag) {
    char byte = flag ? 1 : 0;
    raw(&byte, 1);
    if (byte != 0 && byte != 1) fail();
    if constexpr (kReads) flag = byte == 1;
  }

  void each_entry(auto& entries) {
    std::size_t left = length_of(entries);
    if constexpr (kReads) {
      for (typename std::remove_cvref_t<decltype(entries)>::key_type key; left > 0; --left) {
        each(key);
        each(entries[key]);
      }
    } else {
      for (const auto& [key, value] : entries) each(key), each(value);
    }
  }

  void each_item(auto& items) {
    using Item = std::remove_cvref_t<decltype(items[0])>;
    constexpr bool whole = std::is_arithmetic_v<Item> || kPackedWhole<Item>;
    const std::size_t count = length_of(items, whole ? sizeof(Item) : 1);
    if constexpr (kReads) items.resize(count);
    if constexpr (whole) {
      raw(items.data(), count * sizeof(Item));
    } else {
      for (auto& item : items) each(item);
    }
  }

  bool presence(auto& item) {
    bool there = item.has_value();
    each(there);
    if constexpr (kReads) {
      if (there) item.emplace();
    }
    return there;
  }

  // No item is shorter than `least` bytes, so a length beyond what is left is broken: nothing is allocated for it.
  std::size_t length_of(const auto& items, std::size_t least = 1) {
    std::size_t count = items.size();
    raw(&count, sizeof count);
    if constexpr (kReads) {
      if (count > bytes_.size() / least) fail();
    }
    return count;
  }

  void raw(auto* value, std::size_t count) {
    if constexpr (kReads) {
      if (count > bytes_.size()) fail();
      bytes_.copy(reinterpret_cast<char*>(value), count);
      bytes_.remove_prefix(count);
    } else {
      bytes_.append(reinterpret_cast<const char*>(value), count);
    }
  }

  Bytes& bytes_;
};

template <typename Value>
std::string packed(const Value& value) {
  CountedBytes counted;
  PackedFields<CountedBytes>{counted}(value);
  std::string bytes;
  bytes.reserve(counted.size);  // results of large worlds are long: growing would copy them again and again
  PackedFields<std::string>{bytes}(value);
  return bytes;
}

// Errors: Failure::run when the bytes are not what `packed` made of such a value.
template <typename Value>
Value unpacked(std::string_view bytes) {
  PackedFields<std::string_view> fields(bytes);
  Value value{};
  fields(value);
  if (!bytes.empty()) fields.fail();
  return value;
}

}  // namespace shardsim
