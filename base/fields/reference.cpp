#include "base/fields/reference.h"

#include <fmt/format.h>

#include <set>
#include <vector>

#include "base/fields/exact_text.h"
#include "base/text.h"
#include "base/tree/leaf.h"

namespace shardsim {
namespace {

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

std::string reference_tables(const Shape& root, const std::string& path) {
  std::set<std::string> known;
  std::string text;
  add_tables(root, path, known, text);
  return text;
}

}  // namespace shardsim
