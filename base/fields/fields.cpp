#include "base/fields/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <utility>
#include <vector>

#include "base/fields/exact_text.h"
#include "base/text.h"
#include "base/tree/leaf.h"
#include "base/tree/yaml_text.h"

namespace shardsim {
namespace {

// A list or map that states its source has no text of its own in the source entry.
std::string sourced(const SourcedValue& source, const std::string& text) {
  std::string map = "{value: " + (source.value.empty() ? text : in_yaml_quotes(source.value));
  map += ", source: " + in_yaml_quotes(source.source);
  if (source.fitted) map += ", fitted: true";
  std::vector<std::string> rows;
  for (const std::string& row : source.fitted_on) rows.push_back(in_yaml_quotes(row));
  if (!rows.empty()) map += ", fitted_on: [" + join(rows) + "]";
  if (source.rows_used > 0) map += fmt::format(", rows_used: {}", source.rows_used);
  if (source.error_unused_pct) map += ", error_unused_pct: " + shortest(*source.error_unused_pct);
  return map + "}";
}

// YAML would take "2.30" for the number 2.3.
bool is_like_a_fraction(const std::string& word) {
  return std::isdigit(static_cast<unsigned char>(word.front())) != 0 && word.find('.') != std::string::npos;
}

std::string spoken_list(const std::vector<std::string>& words) {
  const std::vector<std::string> before(words.begin(), words.end() - 1);
  return join(before) + " and " + words.back();
}

// A noun of docs/formats/conventions.md and what it has beyond that noun: "count" and "count, at most 16".
std::string bounded(const std::string& noun, Bounds bounds, const Bounds& usual) {
  if (bounds == usual) return noun;
  if (bounds.least == usual.least && bounds.without_least == usual.without_least)
    bounds.least = Bounds{}.least, bounds.without_least = false;
  return noun + ", " + bounds.text();
}

std::string words_text(const std::vector<std::string>& words) {
  std::vector<std::string> texts;
  for (const std::string& word : words) texts.push_back(word.find('.') == word.npos ? word : "\"" + word + "\"");
  return join(texts);
}

std::string form_text(const Form& form) {
  const Bounds every = Bounds::from(0), whole = Bounds::from(0).to(1);
  switch (form.kind) {
    case Form::Kind::choice:
      return words_text(form.words);
    case Form::Kind::flag:
      return "flag";
    case Form::Kind::count:
      return form.bounds.least == 0 ? bounded("count from 0", form.bounds, every)
                                    : bounded("count", form.bounds, Bounds::from(1));
    case Form::Kind::real:
      return bounded("real", form.bounds.least == kLeastFactor ? Bounds::above(0).to(form.bounds.most) : form.bounds,
                     {});
    case Form::Kind::share:
      return form.bounds == efficiency_leaf().form.bounds ? "efficiency" : bounded("share", form.bounds, whole);
    case Form::Kind::bytes:
      return bounded("bytes", form.bounds, every);
    case Form::Kind::time:
      return form.bounds.most == kMostTime.value ? "time" : "time, at most " + exact_text(Seconds{form.bounds.most});
    case Form::Kind::rate:
      return "rate";
    case Form::Kind::flops:
      return "flops";
    case Form::Kind::list:
      return "list";
    case Form::Kind::map:
      return "map";
    default:
      return form.letters.empty() ? "text" : "name";
  }
}

std::string type_text(const Shape& shape) {
  std::vector<std::string> texts;
  for (const Form& form : shape.forms) texts.push_back(form_text(form));
  if (texts == std::vector<std::string>{"list"}) {
    const std::string item = type_text(shape.item.front());
    const std::string noun = item.substr(0, item.find(' '));
    const bool is_whole_noun = noun == "list" || noun == "map";
    return "list of " + (is_whole_noun ? noun + "s" + item.substr(noun.size()) : item);
  }
  return join(texts, " or ");
}

std::string row(const Shape::Key& key, std::size_t maps) {
  const std::string usual = key.required_in == maps ? "req" : key.usual.empty() ? "-" : key.usual;
  return fmt::format("| `{}` | {} | {} | {} |\n", key.name, type_text(key.shape), usual,
                     replaced(key.help, "|", "\\|"));
}

void add_tables(const Shape& shape, const std::string& path, std::set<std::string>& known, std::string& text) {
  std::string table = "| key | type | default | meaning |\n|---|---|---|---|\n";
  for (const Shape::Key& key : shape.keys) table += row(key, shape.maps);
  if (!shape.keys.empty() && known.insert(table).second) text += fmt::format("<!-- keys {} -->\n{}\n", path, table);
  for (const Shape& item : shape.item) add_tables(item, path, known, text);
  for (const Shape::Key& key : shape.keys) add_tables(key.shape, path + "." + key.name, known, text);
}

}  // namespace

void YamlWriter::put(std::string_view key, const std::string& text) {
  const SourcedValue* source = source_of(path_of(key));
  const std::string entry = std::string(key) + ": " + (source == nullptr ? text : sourced(*source, text));
  if (in_item_) return item_.push_back(entry);
  line(entry);
}

void YamlWriter::open_item(std::string_view key, std::size_t index) {
  path_.push_back(fmt::format("{}.{}", key, index));
  in_item_ = true;
}

std::string YamlWriter::close_item() {
  path_.pop_back();
  in_item_ = false;
  return "{" + join(std::exchange(item_, {})) + "}";
}

void YamlWriter::put_list(std::string_view key, const std::vector<std::string>& items) {
  if (in_item_ || items.empty() || is_sourced(key)) return put(key, "[" + join(items) + "]");
  line(std::string(key) + ":");
  for (const std::string& text : items) line("  - " + text);
}

std::string YamlWriter::path_of(std::string_view key) const {
  return path_.empty() ? std::string(key) : fmt::format("{}.{}", fmt::join(path_, "."), key);
}

const SourcedValue* YamlWriter::source_of(const std::string& path) const {
  for (const SourcedValue& source : sources_) {
    if (source.path == path) return &source;
  }
  return nullptr;
}

std::string word_text(const std::string& text, const Form& form) {
  if (form.kind == Form::Kind::choice) {
    if (!is_one_of(form.words, text)) return "";
    return is_like_a_fraction(text) ? in_yaml_quotes(text) : text;
  }
  return form.letters.empty() ? in_yaml_quotes(text) : text;
}

Shape sourced_value_shape() {
  Shape shape;
  Fields map(shape);
  SourcedValue value;
  std::optional<int> rows;
  map.need("value", value.value, "the value itself");
  map.take("source", value.source, "where the value comes from; required for a fitted value");
  map.take("fitted", value.fitted,
           "whether the value was adjusted to measurements. Every report and `result.json` list fitted values");
  map.texts("fitted_on", value.fitted_on, "the measurements that it was adjusted to");
  map.usual("0").take("rows_used", rows, count_leaf(), "how many measurements these are");
  map.take("error_unused_pct", value.error_unused_pct, real_leaf(),
           "the error on measurements that were not used for the fit, in percent");
  shape.keys.front().shape.forms.clear();  // it is as the plain value is
  return shape;
}

Shape list_shape(const Shape& item, const Bounds& length) {
  Shape shape;
  shape.forms = {{Form::Kind::list, {}, length}};
  shape.item = {item};
  return shape;
}

Fields::Fields(Shape& described) : shape_(&described) {
  described.by_name = described.closed = true;
  described.maps = 1;
}

Fields& Fields::usual(const char* text) {
  if (describing()) usual_ = text;
  return *this;
}

Shape::Key& Fields::describe(std::string_view key, const std::vector<Form>& forms, const std::string& usual,
                             const char* help) {
  Shape::Key& described = shape_->keys.emplace_back();
  described.name = key;
  described.allowed = described.sourced = true;
  described.shape.forms = forms;
  described.usual = usual_ == nullptr ? usual : std::exchange(usual_, nullptr);
  described.help = help;
  return described;
}

void Fields::must_have(std::string_view key) {
  std::ranges::find(shape_->keys, key, &Shape::Key::name)->required_in = shape_->maps;
}

void Fields::choose(std::string_view key, std::string& word, const std::vector<std::string>& words, const char* help) {
  take(key, word, word_leaf(words), help);
}

void Fields::choose(std::string_view key, int& number, const std::vector<std::string>& numbers, const char* help) {
  std::string word = std::to_string(number);
  choose(key, word, numbers, help);
  number = std::stoi(word);
}

void Fields::texts(std::string_view key, std::vector<std::string>& texts, const char* help) {
  if (reading()) {
    texts = reader_->texts(key);
  } else if (writing()) {
    std::vector<std::string> quoted;
    for (const std::string& text : texts) quoted.push_back(in_yaml_quotes(text));
    writer_->put_list(key, quoted);
  } else {
    Shape& item = describe(key, {{Form::Kind::list, {}, Bounds::from(0)}}, "[]", help).shape.item.emplace_back();
    item.forms.push_back(text_leaf().form);
  }
}

const Tree* Fields::custom(std::string_view key, const Shape& shape, const char* help, bool needed) {
  if (reading()) return needed ? &reader_->required(key) : reader_->value(key);
  if (!describing()) return nullptr;
  describe(key, shape.forms, "-", help).shape = shape;
  if (needed) must_have(key);
  return nullptr;
}

void Fields::also(const Form& form) {
  if (!describing()) return;
  shape_->keys.back().shape.forms.push_back(form);
  shape_->keys.back().sourced = true;
}

void Fields::known(std::string_view key, const Form& form, const char* help) {
  if (reading()) reader_->has(key);
  if (describing()) describe(key, {form}, "-", help).sourced = false;
}

void Fields::refuse_if(bool wrong, std::string_view key, const std::string& what, const std::string& remedy) {
  if (wrong && reading()) throw input_error(reader_->place_of(key), what, remedy);
}

void Fields::refuse(std::string_view key, const char* what, const char* remedy) {
  if (reading() && reader_->has(key)) refuse_if(true, key, what, remedy);
}

void Fields::exactly_one_of(const std::vector<std::string>& keys, const std::string& what) {
  if (describing()) shape_->one_of.push_back(keys);
  if (!reading()) return;
  const auto given = std::ranges::count_if(keys, [&](const std::string& key) { return reader_->has(key); });
  if (given == 1) return;
  throw input_error(reader_->tree().place,
                    what.empty() ? fmt::format("{} of {} are given", given, spoken_list(keys)) : what,
                    "Write exactly one of " + (what.empty() ? "them" : spoken_list(keys)));
}

std::string Fields::item_path(std::string_view key, std::size_t index) const {
  return fmt::format("{}{}{}.{}", reader_->path(), reader_->path().empty() ? "" : ".", key, index);
}

std::string reference_tables(const Shape& root, const std::string& path) {
  std::set<std::string> known;
  std::string text;
  add_tables(root, path, known, text);
  return text;
}

}  // namespace shardsim
