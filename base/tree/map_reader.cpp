#include "base/tree/map_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace shardsim {

Error named_error(const Error& error, const std::string& name) {
  const std::string where = error.place().text() + ": ";
  std::string text = error.what();
  if (text.starts_with(where)) text.erase(0, where.size());
  return {error.failure(), error.place(), name + ": " + text, ""};
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
  throw input_error(place_, fmt::format("the key '{}' is missing", dotted(key)), fmt::format("Add '{}: ...'", key));
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
  MapReader reader(sourced, dotted(key));
  const Tree& value = *sourced.find("value");
  reader.has("value");
  SourcedValue entry;
  entry.path = reader.path();
  if (value.kind == Tree::Kind::scalar) entry.value = value.scalar;
  entry.source = reader.text("source", "");
  entry.fitted = reader.flag("fitted", false);
  entry.fitted_on = reader.texts("fitted_on");
  entry.rows_used = reader.count("rows_used", Bounds::from(0), 0);
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

std::string MapReader::text(std::string_view key, const std::optional<std::string>& fallback) {
  return get(key, text_leaf(), fallback);
}

std::string MapReader::text(std::string_view key, const TextRule& rule) {
  return get(key, text_leaf(rule));
}

std::string MapReader::name(std::string_view key) {
  return text(key, kNameRule);
}

std::string MapReader::choice(std::string_view key, const std::vector<std::string>& allowed,
                              const std::optional<std::string>& fallback) {
  return get(key, word_leaf(allowed), fallback);
}

bool MapReader::flag(std::string_view key, bool fallback) {
  return get<bool>(key, flag_leaf(), fallback);
}

std::int64_t MapReader::count(std::string_view key, std::optional<std::int64_t> fallback) {
  return count(key, Bounds::from(1), fallback);
}

std::int64_t MapReader::count(std::string_view key, const Bounds& bounds, std::optional<std::int64_t> fallback) {
  return get(key, count_leaf(bounds), fallback);
}

double MapReader::real(std::string_view key, std::optional<double> fallback) {
  return get(key, real_leaf(), fallback);
}

double MapReader::real(std::string_view key, const Bounds& bounds, std::optional<double> fallback) {
  return get(key, real_leaf(bounds), fallback);
}

double MapReader::share(std::string_view key, double fallback) {
  return get<double>(key, share_leaf(), fallback);
}

double MapReader::efficiency(std::string_view key, double fallback) {
  return get<double>(key, efficiency_leaf(), fallback);
}

Bytes MapReader::bytes(std::string_view key, std::optional<Bytes> fallback) {
  return get(key, bytes_leaf(), fallback);
}

Seconds MapReader::time(std::string_view key, std::optional<Seconds> fallback) {
  return get(key, time_leaf(), fallback);
}

Bandwidth MapReader::rate(std::string_view key, std::optional<Bandwidth> fallback) {
  return get(key, rate_leaf(), fallback);
}

Flops MapReader::flops(std::string_view key) {
  return get(key, flops_leaf());
}

std::string MapReader::dotted(std::string_view key) const {
  return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
}

MapReader MapReader::map(std::string_view key) {
  note_key(tree_, key, Form{Form::Kind::map});
  static const Tree kEmpty = empty_map();
  const Tree& tree = has(key) ? *tree_.find(key) : kEmpty;
  return {tree, dotted(key), sources_, has(key) ? tree.place : place_};
}

const std::vector<Tree>& MapReader::list(std::string_view key, const Bounds& length) {
  const Form form{Form::Kind::list, {}, length};
  note_key(tree_, key, form, Need::required);
  const Tree& tree = required(key);
  note_form(tree, form);
  if (tree.kind != Tree::Kind::list) {
    throw input_error(tree.place,
                      fmt::format("{}: a list is expected here, but this is {}", dotted(key), kind_name(tree.kind)),
                      length.hold(0) ? "Write [A, B, ...], or [] for none" : "Write [A, B, ...]");
  }
  if (length.hold(static_cast<double>(tree.items.size()))) return tree.items;
  const std::string found = tree.items.empty() ? "the list is empty" : fmt::format("{} items", tree.items.size());
  throw input_error(tree.place, fmt::format("{}: {}", dotted(key), found),
                    "The number of items must be " + length.text());
}

std::vector<std::string> MapReader::texts(std::string_view key) {
  std::vector<std::string> texts;
  note_key(tree_, key, Form{Form::Kind::list, {}, Bounds::from(0)}, Need::sourced);
  if (!has(key)) return texts;
  for (const Tree& item : list(key)) texts.push_back(read(key, item, text_leaf()));
  return texts;
}

std::vector<std::string> MapReader::words(std::string_view key, const std::vector<std::string>& words,
                                          const std::string& noun) {
  const Bounds length = Bounds::from(1);
  std::vector<std::string> chosen;
  note_key(tree_, key, Form{Form::Kind::list, {}, length}, Need::sourced);
  if (!has(key)) return chosen;
  for (const Tree& item : list(key, length)) chosen.push_back(read(key, item, word_leaf(words, noun)));
  return chosen;
}

Place MapReader::place_of(std::string_view key) const {
  const Tree* found = tree_.find(key);
  return found == nullptr ? place_ : found->place;
}

bool MapReader::is_fitted(std::string_view key) {
  if (!has(key)) return false;
  const Tree& field = *tree_.find(key);
  if (field.kind != Tree::Kind::map || field.find("value") == nullptr) return false;
  return MapReader(field, dotted(key)).flag("fitted", false);
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
