#include "base/tree/map_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace shardsim {
namespace {

std::string dotted(const std::string& path, std::string_view key) {
  return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
}

template <typename Parse>
auto parsed(const std::string& name, const Tree& tree, std::string_view expected, const Parse& parse) {
  try {
    return parse(scalar_text(tree, expected), tree.place);
  } catch (const Error& error) {
    throw named_error(error, name);
  }
}

// A parser that refuses what lies outside `least` to `most`: no machine has such a value, and a simulation would divide
// by it until its times mean nothing.
template <typename Quantity>
auto in_reason(Quantity (*parse)(std::string_view, const Place&), double Quantity::*member, double least, double most,
               const char* range) {
  return [=](std::string_view text, const Place& place) {
    const Quantity quantity = parse(text, place);
    if (quantity.*member >= least && quantity.*member <= most) return quantity;
    throw input_error(place, excerpt(text) + " is outside the range that can be simulated",
                      fmt::format("Write a value {}. Is the unit right?", range));
  };
}

std::int64_t parse_count_from(std::int64_t least, std::string_view text, const Place& place) {
  const std::int64_t count = parse_count(text, place);
  if (count >= least) return count;
  throw input_error(place, fmt::format("{} is too small", excerpt(text)), fmt::format("Write {} or more", least));
}

constexpr double kLeastShare = 1e-6;  // of a rate: what is slower by more never ends

double parse_efficiency(std::string_view text, const Place& place) {
  const double value = parse_share(text, place);
  if (value >= kLeastShare) return value;
  throw input_error(place,
                    excerpt(text) + (value > 0 ? " is outside the range that can be simulated" : " is not above 0"),
                    "Write an efficiency between 0.000001 and 1");
}

bool parse_flag(std::string_view text, const Place& place) {
  if (text == "true") return true;
  if (text == "false") return false;
  throw input_error(place, excerpt(text) + " is neither true nor false", "Write true or false");
}

std::string parse_name(std::string_view text, const Place& place) {
  const bool good = !text.empty() && text.size() <= 64 &&
                    text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string_view::npos;
  if (good) return std::string(text);
  throw input_error(place, excerpt(text) + " is not a name", "Names are 1 to 64 of a-z, 0-9 and _");
}

std::string parse_choice(const std::vector<std::string>& allowed, std::string_view text, const Place& place) {
  if (std::find(allowed.begin(), allowed.end(), text) != allowed.end()) return std::string(text);
  throw input_error(place, excerpt(text) + " is not known here", known_names_hint(text, allowed));
}

std::string text_itself(std::string_view text, const Place&) {
  return std::string(text);
}

const Tree& empty_map() {
  static const Tree kEmpty = [] {
    Tree tree;
    tree.kind = Tree::Kind::map;
    return tree;
  }();
  return kEmpty;
}

}  // namespace

Error named_error(const Error& error, const std::string& name) {
  const std::string where = error.place().text() + ": ";
  std::string text = error.what();
  if (text.starts_with(where)) text.erase(0, where.size());
  return {error.failure(), error.place(), name + ": " + text, ""};
}

namespace {

// The text of a value: a getter that knows more of it has said so before.
void note_scalar(const Tree& tree) {
  const auto is_scalar = [](const Form& form) {
    return form.kind != Form::Kind::list && form.kind != Form::Kind::map && form.kind != Form::Kind::anything;
  };
  if (tree.asked && std::ranges::none_of(tree.asked->forms, is_scalar)) note_form(tree, {Form::Kind::text});
}

}  // namespace

const std::string& scalar_text(const Tree& tree, std::string_view expected) {
  note_scalar(tree);
  if (tree.kind == Tree::Kind::scalar) return tree.scalar;
  const std::string found =
      tree.kind == Tree::Kind::null ? "there is no value" : kind_name(tree.kind) + " is no value here";
  throw input_error(tree.place, found, fmt::format("Write {}", expected));
}

MapReader::MapReader(const Tree& tree, std::string path, std::vector<SourcedValue>* sources)
    : MapReader(tree, std::move(path), sources, tree.place) {}

MapReader::MapReader(const Tree& tree, std::string path, std::vector<SourcedValue>* sources, Place place)
    : tree_(tree), place_(std::move(place)), path_(std::move(path)), sources_(sources) {
  note_form(tree, {Form::Kind::map});
  if (tree.asked) tree.asked->by_name = true;
  if (tree.kind == Tree::Kind::map || tree.kind == Tree::Kind::null) return;
  const std::string what = path_.empty() ? "" : path_ + ": ";
  throw input_error(place_, fmt::format("{}a map is expected here, but this is {}", what, kind_name(tree.kind)),
                    "Write KEY: VALUE lines, or {KEY: VALUE, ...}");
}

bool MapReader::has(std::string_view key) {
  if (std::find(known_.begin(), known_.end(), key) == known_.end()) known_.emplace_back(key);
  note_key(tree_, key);
  return tree_.find(key) != nullptr;
}

const Tree* MapReader::value(std::string_view key) {
  note_key(tree_, key, {}, Need::sourced);
  if (!has(key)) return nullptr;
  return &unwrap(*tree_.find(key), key);
}

const Tree& MapReader::required(std::string_view key) {
  note_key(tree_, key, {}, Need::required);
  if (const Tree* found = value(key)) return *found;
  refuse_misspelling_of(key);
  throw input_error(place_, fmt::format("the key '{}' is missing", dotted(path_, key)),
                    fmt::format("Add '{}: ...'", key));
}

namespace {

Place key_place(const Tree& value) {
  Place place = value.place;
  if (value.key_line > 0) place.line = value.key_line, place.column = value.key_column;
  return place;
}

}  // namespace

// A required key that is missing may be there under another name: that name is what the user has to see.
void MapReader::refuse_misspelling_of(std::string_view key) const {
  std::vector<std::string> unread;
  for (const auto& [name, value] : tree_.fields) {
    if (std::find(known_.begin(), known_.end(), name) == known_.end()) unread.push_back(name);
  }
  const std::string near = nearest(key, unread);
  if (near.empty()) return;
  throw input_error(key_place(*tree_.find(near)), fmt::format("unknown key {}", excerpt(near)),
                    fmt::format("Did you mean '{}'? That key is required here", key));
}

// A map with the key `value` is a sourced value; anything else is itself.
const Tree& MapReader::unwrap(const Tree& field, std::string_view key) {
  if (field.kind != Tree::Kind::map || field.find("value") == nullptr) return field;
  if (field.asked) field.asked->sourced = true;
  record(field, key);
  return *field.find("value");
}

void MapReader::record(const Tree& sourced, std::string_view key) {
  MapReader reader(sourced, dotted(path_, key));
  const Tree& value = *sourced.find("value");
  reader.has("value");
  SourcedValue entry;
  entry.path = reader.path();
  if (value.kind == Tree::Kind::scalar) entry.value = value.scalar;
  entry.source = reader.text("source", "");
  entry.fitted = reader.flag("fitted", false);
  entry.fitted_on = reader.texts("fitted_on");
  entry.rows_used = reader.count_from("rows_used", 0, 0);
  if (reader.has("error_unused_pct")) entry.error_unused_pct = reader.real("error_unused_pct");
  reader.finish();
  if (entry.fitted && entry.source.empty()) {
    throw input_error(sourced.place, fmt::format("{}: a fitted value without source", reader.path()),
                      "Add 'source: ...', which says what it was fitted to");
  }
  if (sources_ == nullptr) return;
  const auto same = [&](const SourcedValue& known) { return known.path == entry.path; };
  if (std::none_of(sources_->begin(), sources_->end(), same)) sources_->push_back(std::move(entry));
}

template <typename Value, typename Parse>
Value MapReader::read(std::string_view key, const std::optional<Value>& fallback, std::string_view expected,
                      const Form& form, const Parse& parse) {
  note_key(tree_, key, form, Need::sourced);
  if (fallback && !has(key)) return *fallback;
  const Tree& stated = required(key);
  note_form(stated, form);
  return parsed(dotted(path_, key), stated, expected, parse);
}

std::string MapReader::text(std::string_view key, const std::optional<std::string>& fallback) {
  return read(key, fallback, "a text", {Form::Kind::text}, text_itself);
}

std::string MapReader::name(std::string_view key) {
  return read<std::string>(key, {}, "a name of a-z, 0-9 and _", {Form::Kind::name}, parse_name);
}

std::string MapReader::choice(std::string_view key, const std::vector<std::string>& allowed,
                              const std::optional<std::string>& fallback) {
  return read(key, fallback, "one of " + join(allowed), {Form::Kind::choice, allowed},
              [&](const std::string& text, const Place& place) { return parse_choice(allowed, text, place); });
}

bool MapReader::flag(std::string_view key, bool fallback) {
  return read<bool>(key, fallback, "true or false", {Form::Kind::flag}, parse_flag);
}

std::int64_t MapReader::count(std::string_view key, std::optional<std::int64_t> fallback) {
  return count_from(key, 1, fallback);
}

std::int64_t MapReader::count_from(std::string_view key, std::int64_t least, std::optional<std::int64_t> fallback) {
  return read(key, fallback, "a whole number, for example 8", {Form::Kind::count, {}, least},
              [&](const std::string& text, const Place& place) { return parse_count_from(least, text, place); });
}

double MapReader::real(std::string_view key, std::optional<double> fallback) {
  return read(key, fallback, "a number, for example 0.5", {Form::Kind::real}, parse_real);
}

double MapReader::share(std::string_view key, double fallback) {
  return read<double>(key, fallback, "a share, for example 0.6 or \"60 %\"", {Form::Kind::share}, parse_share);
}

double MapReader::efficiency(std::string_view key, double fallback) {
  return read<double>(key, fallback, "a share, for example 0.6 or \"60 %\"", {Form::Kind::share}, parse_efficiency);
}

Bytes MapReader::bytes(std::string_view key, std::optional<Bytes> fallback) {
  return read(key, fallback, "a size, for example \"40 GiB\"", {Form::Kind::bytes}, parse_bytes);
}

Seconds MapReader::time(std::string_view key, std::optional<Seconds> fallback) {
  return read(key, fallback, "a time, for example \"3 us\"", {Form::Kind::time},
              in_reason(parse_seconds, &Seconds::value, 0, 1e6, "of at most 1000000 s"));
}

Bandwidth MapReader::rate(std::string_view key, std::optional<Bandwidth> fallback) {
  return read(key, fallback, "a rate, for example \"25 GB/s\"", {Form::Kind::rate},
              in_reason(parse_bandwidth, &Bandwidth::bytes_per_second, 1e3, 1e18, "from 1 KB/s to 1000000 TB/s"));
}

Flops MapReader::flops(std::string_view key) {
  return read<Flops>(key, {}, "a compute rate, for example \"19.5 TFLOP/s\"", {Form::Kind::flops},
                     in_reason(parse_flops, &Flops::per_second, 1e3, 1e24, "from 1 KFLOP/s to 1e24 FLOP/s"));
}

MapReader MapReader::map(std::string_view key) {
  note_key(tree_, key, Form{Form::Kind::map});
  const Tree& tree = has(key) ? *tree_.find(key) : empty_map();
  return {tree, dotted(path_, key), sources_, has(key) ? tree.place : place_};
}

const std::vector<Tree>& MapReader::list(std::string_view key) {
  const Form form{Form::Kind::list};
  note_key(tree_, key, form, Need::required);
  const Tree& tree = required(key);
  note_form(tree, form);
  if (tree.kind == Tree::Kind::list) return tree.items;
  throw input_error(
      tree.place, fmt::format("{}: a list is expected here, but this is {}", dotted(path_, key), kind_name(tree.kind)),
      "Write [A, B, ...], or [] for none");
}

std::vector<std::string> MapReader::texts(std::string_view key) {
  std::vector<std::string> texts;
  note_key(tree_, key, Form{Form::Kind::list}, Need::sourced);
  if (!has(key)) return texts;
  for (const Tree& item : list(key)) texts.push_back(parsed(dotted(path_, key), item, "a text", text_itself));
  return texts;
}

Place MapReader::place_of(std::string_view key) const {
  const Tree* found = tree_.find(key);
  return found == nullptr ? place_ : found->place;
}

bool MapReader::is_fitted(std::string_view key) {
  if (!has(key)) return false;
  const Tree& field = *tree_.find(key);
  if (field.kind != Tree::Kind::map || field.find("value") == nullptr) return false;
  return MapReader(field, dotted(path_, key)).flag("fitted", false);
}

void MapReader::finish() const {
  note_closed(tree_, known_);
  for (const auto& [key, value] : tree_.fields) {
    if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
    const std::string inside = path_.empty() ? "" : fmt::format(" in '{}'", path_);
    throw input_error(key_place(value), fmt::format("unknown key {}{}", excerpt(key), inside),
                      known_names_hint(key, known_));
  }
}

}  // namespace shardsim
