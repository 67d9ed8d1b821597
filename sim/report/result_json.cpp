#include "sim/report/result_json.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/text.h"
#include "base/tree/map_reader.h"
#include "sim/study/result_fields.h"

namespace shardsim {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kResultSchema = "shardsim.result/1";

// Writes the named members of a value into an object.
class JsonWriter {
 public:
  template <typename Value>
  static Json json_of(const Value& value) {
    if constexpr (std::is_same_v<Value, Strategy>) {
      return strategy_name(value);
    } else if constexpr (std::is_same_v<Value, Effect>) {
      return effect_key(value);
    } else if constexpr (std::is_constructible_v<Json, Value> && !std::is_aggregate_v<Value>) {
      return value;
    } else {
      Json object = Json::object();
      JsonWriter writer(object);
      fields(writer, value);
      return object;
    }
  }
  template <typename Item>
  static Json json_of(const std::vector<Item>& items) {
    Json list = Json::array();
    for (const Item& item : items) list.push_back(json_of(item));
    return list;
  }
  template <typename Value>
  static Json json_of(const std::optional<Value>& value) {
    return value ? json_of(*value) : Json(nullptr);
  }

  explicit JsonWriter(Json& object) : object_(object) {}

  void operator()(const auto&...) {}
  template <typename Value>
  void field(std::string_view name, const Value& value) {
    put(name, json_of(value));
  }
  template <typename Value>
  void field(std::string_view name, const std::optional<Value>& value) {
    if (value) put(name, json_of(*value));
  }
  void nullable(std::string_view name, const std::optional<double>& value) { put(name, json_of(value)); }
  void text_if_any(std::string_view name, const std::string& text) {
    if (!text.empty()) put(name, text);
  }
  void scaled(std::string_view name, double value, double factor) { put(name, factor * value); }
  void word(std::string_view name, bool flag, const char* no, const char* yes) { put(name, flag ? yes : no); }
  void group(std::string_view name, auto members) {
    Json object = Json::object();
    JsonWriter writer(object);
    members(writer);
    put(name, std::move(object));
  }
  void group_or_null(std::string_view name, bool there, auto members) {
    if (there) {
      group(name, members);
    } else {
      put(name, nullptr);
    }
  }
  void group_if(std::string_view name, const auto& value, auto members) {
    if (value) group(name, [&](auto& inner) { members(inner, *value); });
  }
  void list(std::string_view name, const auto& items, auto members, bool even_empty = true) {
    if (items.empty() && !even_empty) return;
    Json list = Json::array();
    for (const auto& item : items) {
      Json object = Json::object();
      JsonWriter writer(object);
      members(writer, item);
      list.push_back(std::move(object));
    }
    put(name, std::move(list));
  }
  void index(std::string_view name, std::size_t index, const auto& among) { field(name, among[index].name); }
  void derived(std::string_view name, auto value) { put(name, json_of(value())); }
  void view(std::string_view name, const auto& object, auto get, auto) { field(name, get(object)); }

 private:
  void put(std::string_view name, Json value) { object_[std::string(name)] = std::move(value); }

  Json& object_;
};

// The value that gives `product` when it is multiplied by `factor`, to the last bit: one of the numbers beside the
// quotient, which may be rounded.
double unscaled(double product, double factor) {
  const double quotient = product / factor;
  const double below = std::nextafter(quotient, -std::numeric_limits<double>::infinity());
  const double above = std::nextafter(quotient, std::numeric_limits<double>::infinity());
  if (factor * quotient == product) return quotient;
  return factor * below == product ? below : above;
}

// Reads the named members of a value from a map.
class JsonReader {
 public:
  static void read(const Tree& tree, double& number) { number = parse_real(scalar_text(tree, "a number"), tree.place); }
  static void read(const Tree& tree, std::string& text) { text = scalar_text(tree, "a text"); }
  static void read(const Tree& tree, Strategy& strategy) {
    strategy = parse_strategy(scalar_text(tree, "a strategy"), tree.place);
  }
  static void read(const Tree& tree, Effect& effect) {
    const std::string& key = scalar_text(tree, "an effect");
    std::size_t index = 0;
    while (index < kEffects && effect_key(effect_at(index)) != key) ++index;
    if (index == kEffects) throw input_error(tree.place, fmt::format("unknown effect {}", excerpt(key)), kRemedy);
    effect = effect_at(index);
  }
  template <std::integral Number>
  static void read(const Tree& tree, Number& number) {
    const std::int64_t count = parse_count(scalar_text(tree, "a whole number"), tree.place);
    if (!std::in_range<Number>(count)) throw input_error(tree.place, fmt::format("{} is too large", count), kRemedy);
    number = static_cast<Number>(count);
  }
  template <typename Item>
  static void read(const Tree& tree, std::vector<Item>& items) {
    require(tree, Tree::Kind::list);
    items.resize(tree.items.size());
    for (std::size_t i = 0; i < items.size(); ++i) read(tree.items[i], items[i]);
  }
  template <typename Value>
  static void read(const Tree& tree, std::optional<Value>& value) {
    read(tree, value.emplace());
  }
  template <typename Value>
  requires std::is_class_v<Value>
  static void read(const Tree& tree, Value& value) {
    JsonReader reader(tree);
    fields(reader, value);
  }

  explicit JsonReader(const Tree& tree) : tree_(tree) { require(tree, Tree::Kind::map); }

  void operator()(const auto&...) {}
  void field(std::string_view name, auto& value) { read(member(name), value); }
  template <typename Value>
  void field(std::string_view name, std::optional<Value>& value) {
    if (const Tree* const tree = tree_.find(name)) read(*tree, value);
  }
  void nullable(std::string_view name, std::optional<double>& value) {
    if (member(name).kind != Tree::Kind::null) field(name, value);
  }
  void text_if_any(std::string_view name, std::string& text) {
    if (tree_.find(name) != nullptr) field(name, text);
  }
  void scaled(std::string_view name, double& value, double factor) {
    field(name, value);
    value = unscaled(value, factor);
  }
  void word(std::string_view name, bool& flag, const char* no, const char* yes) {
    flag = MapReader(tree_, "").choice(name, {no, yes}) == yes;
  }
  void group(std::string_view name, auto members) {
    JsonReader reader(member(name));
    members(reader);
  }
  void group_or_null(std::string_view name, bool, auto members) {
    if (member(name).kind != Tree::Kind::null) group(name, members);
  }
  void group_if(std::string_view name, auto& value, auto members) {
    if (tree_.find(name) == nullptr) return;
    value.emplace();
    group(name, [&](auto& inner) { members(inner, *value); });
  }
  void list(std::string_view name, auto& items, auto members, bool even_empty = true) {
    if (!even_empty && tree_.find(name) == nullptr) return;
    const Tree& tree = member(name);
    require(tree, Tree::Kind::list);
    items.resize(tree.items.size());
    for (std::size_t i = 0; i < items.size(); ++i) {
      JsonReader reader(tree.items[i]);
      members(reader, items[i]);
    }
  }
  void index(std::string_view name, std::size_t& index, const auto& among) {
    std::string named;
    field(name, named);
    const auto found = std::ranges::find_if(among, [&](const auto& item) { return item.name == named; });
    if (found == among.end()) {
      throw input_error(member(name).place, fmt::format("'{}' names no case: {}", name, excerpt(named)), kRemedy);
    }
    index = static_cast<std::size_t>(found - among.begin());
  }
  void derived(std::string_view, auto) {}
  template <typename Object, typename Shape>
  void view(std::string_view name, Object& object, Shape (*)(const Object&), auto set) {
    Shape value{};
    field(name, value);
    set_where_there(object, value, set);
  }

 private:
  static constexpr const char* kRemedy = "Is this a result.json as shardsim wrote it?";

  static void require(const Tree& tree, Tree::Kind kind) {
    if (tree.kind == kind) return;
    throw input_error(tree.place, fmt::format("{} where a {} is due", kind_name(tree.kind), kind_name(kind)), kRemedy);
  }
  const Tree& member(std::string_view name) const {
    if (const Tree* const found = tree_.find(name)) return *found;
    throw input_error(tree_.place, fmt::format("'{}' is missing", name), kRemedy);
  }
  static void set_where_there(auto& object, const auto& value, auto set) { set(object, value); }
  template <typename Value>
  static void set_where_there(auto& object, const std::optional<Value>& value, auto set) {
    if (value) set(object, *value);
  }

  const Tree& tree_;
};

// nlohmann writes what is not finite as null, which would hide a bug as a missing figure.
void check_finite(const Json& json, const std::string& path) {
  if (json.is_number_float() && !std::isfinite(json.get<double>()))
    throw std::logic_error(fmt::format("result.json: {} is not finite", path));
  if (!json.is_structured()) return;
  for (const auto& [key, value] : json.items())
    check_finite(value, json.is_array() ? fmt::format("{}[{}]", path, key) : fmt::format("{}.{}", path, key));
}

}  // namespace

std::string result_to_json(const StudyResult& study) {
  Json json = {{"schema", kResultSchema}};
  JsonWriter writer(json);
  fields(writer, study);
  check_finite(json, "$");
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

StudyResult result_from_tree(const Tree& tree) {
  MapReader(tree, "").choice("schema", {kResultSchema});
  StudyResult study;
  JsonReader::read(tree, study);
  return study;
}

}  // namespace shardsim
