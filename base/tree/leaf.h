#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/tree/asked.h"
#include "base/tree/bounds.h"
#include "base/tree/tree.h"
#include "base/units.h"

namespace shardsim {

// An enum that is written as a word has `words_of(Enum)`, in the order of its enumerators.
template <typename Value>
concept Worded = requires(Value value) {
  { words_of(value) } -> std::same_as<std::vector<std::string>>;
};

// The scalar text of a tree, or an input error saying what was expected ("a whole number", ...).
const std::string& scalar_text(const Tree& tree, std::string_view expected);

// A value in the unit of its bounds.
inline double number_of(double value) {
  return value;
}
inline double number_of(std::int64_t count) {
  return static_cast<double>(count);
}
inline double number_of(int count) {
  return count;
}
inline double number_of(Bytes bytes) {
  return static_cast<double>(bytes.count);
}
inline double number_of(Seconds time) {
  return time.value;
}
inline double number_of(Bandwidth rate) {
  return rate.bytes_per_second;
}
inline double number_of(Flops rate) {
  return rate.per_second;
}

// Reads one scalar of a file, either the value of a key (MapReader::get) or an item of a list. It notes in the tree's
// record what it accepts (`form`), so that a schema says what the reader checks. Errors of reading are Failure::input
// at the scalar's place.
template <typename Value>
struct LeafReader {
  Form form;
  std::string expected;  // what to write where there is no scalar: "a whole number, for example 8"
  std::function<Value(std::string_view, const Place&)> parse;
  std::vector<Form> also = {};  // further forms that it accepts

  Value operator()(const Tree& tree) const {
    note_form(tree, form);
    for (const Form& other : also) note_form(tree, other);
    return parse(scalar_text(tree, expected), tree.place);
  }
};

// `advice` ends the message of a number that is out of its bounds.
LeafReader<std::int64_t> count_leaf(const Bounds& bounds = Bounds::from(0), const std::string& advice = "");
LeafReader<double> real_leaf(const Bounds& bounds = {}, const std::string& advice = "");
LeafReader<double> share_leaf(const Bounds& bounds = Bounds::from(0).to(1), const std::string& advice = "");
inline constexpr double kLeastFactor = 1e-6;  // of a rate: what is slower by more never ends
LeafReader<double> efficiency_leaf();         // a share above 0
LeafReader<double> factor_leaf(double most);  // of a rate: above 0
LeafReader<Bytes> bytes_leaf(const Bounds& bounds = Bounds::from(0), const std::string& advice = "");
LeafReader<Bytes> signed_bytes_leaf();
LeafReader<double> percent_leaf(const Bounds& bounds = {});
// They refuse values that no machine has: over 10^6 s, outside 1 KB/s to 10^18 B/s, outside 10^3 to 10^24 FLOP/s.
inline constexpr Seconds kMostTime{1e6};
LeafReader<Seconds> time_leaf(Seconds most = kMostTime);
LeafReader<Bandwidth> rate_leaf();
LeafReader<Flops> flops_leaf();

LeafReader<bool> flag_leaf();
// One of `words`; `noun` is what they are in the message ("compute kernel"), which lists them.
LeafReader<std::string> word_leaf(const std::vector<std::string>& words, const std::string& noun = "");

// The letters and the length of a text.
struct TextRule {
  std::string_view letters;         // empty: all
  Bounds length = Bounds::from(0);  // in bytes
  const char* fault = "";           // of a text that breaks the rule: "is not a name"
  const char* advice = "";
  const char* also = "";  // what is checked once names are joined, as lookaheads (ECMA) for schemas
};
inline constexpr TextRule kNameRule{"abcdefghijklmnopqrstuvwxyz0123456789_", Bounds::from(1).to(64), "is not a name",
                                    "Names are 1 to 64 of a-z, 0-9 and _"};

inline constexpr TextRule kFileNameRule{"", Bounds::from(1), "is not the name of a file",
                                        "Write its path, or leave the key out"};
inline constexpr TextRule kNotEmpty{"", Bounds::from(1), "is empty", "Write one, or leave the key out"};

LeafReader<std::string> text_leaf(const TextRule& rule = {});

// As time_leaf(), of a key whose times are seconds and more: what is proposed where the unit is missing is in seconds.
LeafReader<Seconds> long_time_leaf();

}  // namespace shardsim
