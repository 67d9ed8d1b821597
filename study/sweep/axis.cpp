#include "study/sweep/axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <set>

#include "base/error.h"
#include "base/rng.h"
#include "base/text.h"
#include "base/tree/map_reader.h"
#include "base/tree/yaml_text.h"
#include "base/units.h"

namespace shardsim {
namespace {

struct UnitKind {
  Amount::Kind kind;
  double (*value_of)(std::string_view text, const Place& place);
};

constexpr std::array<UnitKind, 5> kUnitKinds = {
    {{Amount::Kind::bytes,
      [](std::string_view text, const Place& place) { return static_cast<double>(parse_bytes(text, place).count); }},
     {Amount::Kind::rate,
      [](std::string_view text, const Place& place) { return parse_bandwidth(text, place).bytes_per_second; }},
     {Amount::Kind::time, [](std::string_view text, const Place& place) { return parse_seconds(text, place).value; }},
     {Amount::Kind::flops,
      [](std::string_view text, const Place& place) { return parse_flops(text, place).per_second; }},
     {Amount::Kind::plain, parse_percent}}};

// Finds the kind of the unit, and the value of one of it. Sizes of less than a byte are none, so a thousand of them are
// asked for.
bool find_unit_kind(Amount& amount) {
  for (const UnitKind& each : kUnitKinds) {
    try {
      amount.per_unit = each.value_of("1 " + amount.unit, {}) / (amount.unit == "%" ? 100 : 1);
      amount.kind = each.kind;
      return true;
    } catch (const Error&) {  // of another kind
    }
  }
  return false;
}

constexpr int kRangeDigits = 12, kDrawnDigits = 6;
constexpr double kLastStep = 1e-9;  // of a step: rounding must not leave out the last value

// "flexshard_3tier (bandwidths: simulated)": the name of a map and what it says beside.
std::string name_and_rest(const Tree& map) {
  const Tree* const name = map.find("name");
  if (name == nullptr || name->kind != Tree::Kind::scalar) return flow_text(map);
  if (map.fields.size() == 1) return name->scalar;
  Tree rest = map;
  std::erase_if(rest.fields, [](const auto& field) { return field.first == "name"; });
  const std::string text = flow_text(rest);  // in braces
  return fmt::format("{} ({})", name->scalar, std::string_view(text).substr(1, text.size() - 2));
}

AxisValue axis_value(const Tree& stated, const std::string& path) {
  AxisValue value{stated, "", {}};
  if (stated.kind == Tree::Kind::scalar) {
    value.text = stated.scalar;
    if (!stated.quoted || !stated.scalar.empty()) value.amount = amount_of(stated.scalar);
  } else if (stated.kind == Tree::Kind::map) {
    const Tree* const label = stated.find("label");
    value.text = label != nullptr ? scalar_text(*label, "a text") : "";
    std::erase_if(value.tree.fields, [](const auto& field) { return field.first == "label"; });
    if (value.text.empty()) value.text = name_and_rest(value.tree);
  } else if (stated.kind == Tree::Kind::null) {
    throw input_error(stated.place, fmt::format("axis {} has an empty value", excerpt(path)), "Write one");
  } else {
    value.text = flow_text(stated);
  }
  return value;
}

AxisValue number_value(double number, const Amount& like, const Place& place) {
  const std::string text = amount_text(number, like);
  return {text_tree(text, place), text, amount_of(text)};
}

void note_amount(const Tree& stated) {
  note_form(stated, real_leaf().form);
  note_form(stated, percent_leaf().form);
  for (const Form::Kind kind : {Form::Kind::bytes, Form::Kind::time, Form::Kind::rate, Form::Kind::flops})
    note_form(stated, {kind});
}

// The end of a range: a number, in the unit of the other end's kind.
Amount range_end(MapReader& reader, const char* key, const std::string& path) {
  const Tree& stated = reader.required(key);
  note_amount(stated);
  const std::optional<Amount> amount = amount_of(scalar_text(stated, "a number"));
  if (amount) return *amount;
  throw input_error(stated.place,
                    fmt::format("'{}' of axis {}: {} is no number", key, excerpt(path), excerpt(stated.scalar)),
                    "Write for example {from: 100 Gbit/s, to: 800 Gbit/s, step: 100 Gbit/s}");
}

struct Range {
  Amount from;         // its unit is that of all values
  double to = 0;       // in that unit
  bool whole = false;  // both ends are whole numbers without a unit
  bool log = false;
  Place place;
};

Range read_range(MapReader& reader, const std::string& path, const Tree& stated) {
  Range range;
  range.place = stated.place;
  range.from = range_end(reader, "from", path);
  const Amount to = range_end(reader, "to", path);
  if (to.kind != range.from.kind || to.unit.empty() != range.from.unit.empty()) {
    throw input_error(reader.place_of("to"), fmt::format("the ends of axis {} have different units", excerpt(path)),
                      "Write both in one unit");
  }
  range.to = to.in_unit_of(range.from);
  range.whole = range.from.is_whole() && to.is_whole();
  if (range.to < range.from.number) {
    throw input_error(reader.place_of("to"), fmt::format("the end of axis {} is below its start", excerpt(path)),
                      "Write the smaller value as 'from'");
  }
  range.log = reader.choice("scale", {"linear", "log"}, "linear") == "log";
  if (range.log && !(range.from.number > 0)) {
    throw input_error(reader.place_of("from"),
                      fmt::format("axis {} is logarithmic, so it cannot start at {}", excerpt(path),
                                  amount_text(range.from.number, range.from)),
                      "Write a 'from' above 0");
  }
  return range;
}

// `part` of the way from the begin to the end.
double at_part(const Range& range, double part, int digits) {
  const double from = range.from.number;
  const double number = range.log ? from * std::pow(range.to / from, part) : from + part * (range.to - from);
  return range.whole ? std::round(number) : rounded_to_digits(number, digits);
}

std::uint64_t refuse_over(double count, std::uint64_t most, const std::string& path, const Place& place) {
  if (count <= static_cast<double>(most)) return static_cast<std::uint64_t>(count);
  throw input_error(place,
                    fmt::format("axis {} alone has {:.0f} values, and a sweep {} points at most", excerpt(path), count,
                                with_thousands(static_cast<std::int64_t>(most))),
                    "Take larger steps, or allow more by --most-points");
}

// The numbers of a range, in the unit of its begin.
std::vector<double> range_numbers(MapReader& reader, const Range& range, const std::string& path, std::uint64_t most) {
  const double from = range.from.number;
  std::vector<double> numbers;
  if (reader.has("points")) {
    const std::uint64_t points =
        refuse_over(static_cast<double>(reader.count("points")), most, path, reader.place_of("points"));
    for (std::uint64_t i = 0; i < points; ++i) {
      const double part = points == 1 ? 0 : static_cast<double>(i) / static_cast<double>(points - 1);
      numbers.push_back(at_part(range, part, kRangeDigits));
    }
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());  // whole ones may meet
  } else if (reader.has("factor")) {
    const double factor = reader.real("factor", Bounds::above(1));
    if (!(from > 0))
      throw input_error(reader.place_of("factor"), fmt::format("axis {} never reaches its end", excerpt(path)),
                        "Write a 'from' above 0");
    const double steps = std::floor(std::log(range.to / from) / std::log(factor) + kLastStep);
    const std::uint64_t last = refuse_over(steps + 1, most, path, range.place) - 1;
    for (std::uint64_t i = 0; i <= last; ++i)
      numbers.push_back(rounded_to_digits(from * std::pow(factor, static_cast<double>(i)), kRangeDigits));
  } else {
    const Amount step = range_end(reader, "step", path);
    if (step.kind != range.from.kind || step.unit.empty() != range.from.unit.empty() || !(step.number > 0))
      throw input_error(reader.place_of("step"), fmt::format("axis {} never reaches its end", excerpt(path)),
                        "Write a step above 0 in the unit of 'from'");
    const double by = step.in_unit_of(range.from);
    const std::uint64_t last =
        refuse_over(std::floor((range.to - from) / by + kLastStep) + 1, most, path, range.place) - 1;
    for (std::uint64_t i = 0; i <= last; ++i)
      numbers.push_back(rounded_to_digits(from + static_cast<double>(i) * by, kRangeDigits));
  }
  return numbers;
}

void refuse_two_ways(const Tree& stated, const std::string& path) {
  int ways = 0;
  for (const char* const way : {"step", "factor", "points"}) ways += stated.find(way) != nullptr ? 1 : 0;
  if (ways == 1) return;
  throw input_error(
      stated.place,
      fmt::format("axis {} has {} of 'step', 'factor' and 'points'", excerpt(path), ways == 0 ? "none" : "several"),
      "Write one of them, or a list of values");
}

void refuse_no_values(const std::string& path, const Tree& stated) {
  if (stated.kind == Tree::Kind::map && stated.find("from") != nullptr) return;
  note_form(stated, {Form::Kind::list, {}, Bounds::from(1)});
  for (const Tree& item : stated.items) note_form(item, {Form::Kind::anything});
  if (stated.kind == Tree::Kind::list && !stated.items.empty()) return;
  const bool empty = stated.kind == Tree::Kind::list || stated.kind == Tree::Kind::null;
  throw input_error(stated.place, fmt::format("axis {} {}", excerpt(path), empty ? "has no values" : "is no list"),
                    "Write a list, for example [2, 4, 8], or {from: 2, to: 8, factor: 2}");
}

std::vector<AxisValue> listed_values(const std::string& path, const Tree& stated) {
  std::vector<AxisValue> values;
  for (const Tree& item : stated.items) values.push_back(axis_value(item, path));
  return values;
}

}  // namespace

bool Amount::is_whole() const {
  return unit.empty() && number == std::floor(number) && std::abs(number) < 0x1.0p53;
}

std::optional<Amount> amount_of(std::string_view text) {
  Amount amount;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), amount.number);
  if (failure != std::errc{} || !std::isfinite(amount.number)) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (text.starts_with(' ')) text.remove_prefix(1);
  amount.unit = std::string(text);
  if (!amount.unit.empty() && !find_unit_kind(amount)) return std::nullopt;
  return amount;
}

std::string number_text(double number) {
  if (number == std::floor(number) && std::abs(number) < 0x1.0p53) {
    return fmt::format("{}", static_cast<std::int64_t>(number));
  }
  return shortest(number);
}

std::string amount_text(double number, const Amount& like) {
  if (like.unit.empty()) return number_text(number);
  const double bytes = number * like.per_unit;
  if (like.kind == Amount::Kind::bytes && bytes != std::floor(bytes)) return number_text(std::round(bytes)) + " B";
  return number_text(number) + " " + like.unit;
}

double rounded_to_digits(double number, int digits) {
  const std::string text = fmt::format("{:.{}e}", number, digits - 1);
  double rounded = number;
  std::from_chars(text.data(), text.data() + text.size(), rounded);
  return rounded;
}

bool Axis::tells_machines() const {
  static const std::set<std::string, std::less<>> kSizeOrPrice = {"cluster.nodes", "cluster.gpu.count",
                                                                  "cluster.cost_per_gpu_hour", "cluster.currency"};
  return (path == "cluster" || path.starts_with("cluster.")) && !kSizeOrPrice.contains(path);
}

Axis read_axis(const std::string& path, const Tree& stated, std::uint64_t most) {
  refuse_no_values(path, stated);
  Axis axis{path, stated.place, {}};
  if (stated.kind == Tree::Kind::list) {
    axis.values = listed_values(path, stated);
  } else {
    refuse_two_ways(stated, path);
    MapReader reader(stated, path);
    const Range range = read_range(reader, path, stated);
    if (range.log && !reader.has("points"))
      throw input_error(reader.place_of("scale"), fmt::format("axis {} has a 'scale' but no 'points'", excerpt(path)),
                        "Write 'points: N' beside it, or 'factor: 2' alone");
    for (const double number : range_numbers(reader, range, path, most))
      axis.values.push_back(number_value(number, range.from, stated.place));
    reader.finish();
  }
  return axis;
}

void refuse_twice(std::span<const Axis> together) {
  std::set<std::vector<std::string>> seen;
  for (std::size_t at = 0; at < together.front().values.size(); ++at) {
    std::vector<std::string> texts, told;
    for (const Axis& axis : together) {
      texts.push_back(axis.values[at].text);
      told.push_back(fmt::format("{} {}", excerpt(axis.path), excerpt(texts.back())));
    }
    if (seen.insert(texts).second) continue;
    const Place& place = together.front().values[at].tree.place;
    if (together.size() > 1)
      throw input_error(place, fmt::format("zipped axes have {} twice", join(told)), "Remove one of the two");
    throw input_error(place,
                      fmt::format("axis {} has {} twice", excerpt(together.front().path), excerpt(texts.front())),
                      "Remove one of the two, or give maps a 'label' each");
  }
}

Axis draw_axis(const std::string& path, const Tree& stated, std::size_t points, std::uint64_t seed,
               std::uint64_t stream) {
  refuse_no_values(path, stated);
  Axis axis{path, stated.place, {}};
  Rng rng(mix(seed, (stream + 1) * kGolden));
  if (stated.kind == Tree::Kind::list) {
    const std::vector<AxisValue> values = listed_values(path, stated);
    for (std::size_t i = 0; i < points; ++i) axis.values.push_back(values[rng.below(values.size())]);
    return axis;
  }
  MapReader reader(stated, path);
  const Range range = read_range(reader, path, stated);
  reader.finish();
  for (std::size_t i = 0; i < points; ++i)
    axis.values.push_back(number_value(at_part(range, rng.uniform(), kDrawnDigits), range.from, stated.place));
  return axis;
}

}  // namespace shardsim
