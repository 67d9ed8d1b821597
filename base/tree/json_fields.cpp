#include "base/tree/json_fields.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace shardsim {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostNamesShown = 20;

const std::string& number_text(const Tree& tree, const char* expected) {
  const std::string& text = scalar_text(tree, expected);
  if (!tree.quoted) return text;
  throw input_error(tree.place, "a number is expected here, but this is the text " + excerpt(text),
                    "Write it without quotes");
}

// The value that gives `product` when it is multiplied by `factor`, to the last bit: one of the numbers beside the
// quotient, which may be rounded.
double unscaled(double product, double factor) {
  const double quotient = product / factor;
  const double below = std::nextafter(quotient, -std::numeric_limits<double>::infinity());
  const double above = std::nextafter(quotient, std::numeric_limits<double>::infinity());
  if (factor * quotient == product) return quotient;
  return factor * below == product ? below : above;
}

}  // namespace

void JsonSlot::set(std::string_view text) const {
  *json_ = text;
}
void JsonSlot::set(double number) const {
  *json_ = number;
}
void JsonSlot::set(std::int64_t number) const {
  *json_ = number;
}
void JsonSlot::set(std::uint64_t number) const {
  *json_ = number;
}
void JsonSlot::set_flag(bool flag) const {
  *json_ = flag;
}
void JsonSlot::set_null() const {
  *json_ = nullptr;
}
void JsonSlot::make_map() const {
  if (!json_->is_object()) *json_ = Json::object();
}
void JsonSlot::make_list() const {
  *json_ = Json::array();
}
JsonSlot JsonSlot::operator[](std::string_view name) const {
  return JsonSlot((*json_)[std::string(name)]);
}
JsonSlot JsonSlot::append() const {
  return JsonSlot(json_->emplace_back());
}

const Tree& JsonReader::member(std::string_view name) {
  if (keys_ == Keys::known) return reader_.required(name);
  if (const Tree* const found = reader_.value(name)) return *found;
  throw input_error(place(), fmt::format("'{}' is missing", name), "Is this a file as shardsim wrote it?");
}

void JsonReader::scaled(std::string_view name, double& value, double factor) {
  field(name, value);
  value = unscaled(value, factor);
}

const std::vector<std::pair<std::string, Tree>>& JsonReader::entries(std::string_view name) {
  // A name may be "value", so this map is never a sourced value.
  return entries_of(has(name) ? *reader_.tree().find(name) : member(name), name);
}

const std::vector<std::pair<std::string, Tree>>& JsonReader::entries_of(const Tree& tree, std::string_view name) {
  if (tree.kind == Tree::Kind::map) return tree.fields;
  throw input_error(tree.place, fmt::format("{}: a map is expected here, but this is {}", name, kind_name(tree.kind)),
                    "Write it as {\"NAME\": ...}");
}

const std::vector<Tree>& JsonReader::items_of(const Tree& tree) {
  if (tree.kind == Tree::Kind::list) return tree.items;
  throw input_error(tree.place, fmt::format("a list is expected here, but this is {}", kind_name(tree.kind)),
                    "Write [A, B, ...]");
}

void JsonReader::read(const Tree& tree, const std::string&, std::string& text) {
  text = scalar_text(tree, "a text");
  if (tree.quoted) return;
  throw input_error(tree.place, "a text is expected here, but this is " + excerpt(text), "Write it in double quotes");
}

void JsonReader::read(const Tree& tree, const std::string&, double& number) {
  number = parse_real(number_text(tree, "a number"), tree.place);
}

std::int64_t JsonReader::whole(const Tree& tree, bool or_none) {
  const std::string& text = number_text(tree, "a whole number");
  return or_none && text == "-1" ? -1 : parse_count(text, tree.place);
}

std::size_t JsonReader::word_at(const Tree& tree, const std::vector<std::string>& words) {
  const std::string& text = scalar_text(tree, "a word");
  const auto found = std::ranges::find(words, text);
  if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  throw input_error(tree.place, excerpt(text) + " is not known here", known_names_hint(text, words));
}

void JsonReader::refuse_range(const Tree& tree, std::int64_t value) {
  throw input_error(tree.place, fmt::format("{} is out of range", value), "Write a smaller number");
}

std::string JsonReader::path_of(std::string_view name) const {
  return reader_.path().empty() ? std::string(name) : fmt::format("{}.{}", reader_.path(), name);
}

// Adds the path of the member to an error about its scalar value. An error further inside already names its place.
Error JsonReader::told_with_name(std::string_view name, const Tree& tree, const Error& error) const {
  return tree.kind == Tree::Kind::scalar ? named_error(error, path_of(name)) : error;
}

std::size_t JsonReader::position(std::string_view name, const std::string& wanted,
                                 const std::vector<std::string>& known) const {
  const auto found = std::ranges::find(known, wanted);
  if (found != known.end()) return static_cast<std::size_t>(found - known.begin());
  std::vector<std::string> some;
  for (const std::string& each : known) {
    if (some.size() < kMostNamesShown) some.push_back(excerpt(each));
  }
  throw input_error(place_of(name), fmt::format("unknown {} {}", name, excerpt(wanted)),
                    known_names_hint(excerpt(wanted), some));
}

void check_finite(const Json& json, const std::string& path) {
  if (json.is_number_float() && !std::isfinite(json.get<double>()))
    throw std::logic_error(fmt::format("JSON: {} is not finite", path));
  if (!json.is_structured()) return;
  for (const auto& [key, value] : json.items())
    check_finite(value, json.is_array() ? fmt::format("{}[{}]", path, key) : fmt::format("{}.{}", path, key));
}

}  // namespace shardsim
