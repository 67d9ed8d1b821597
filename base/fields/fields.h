#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/fields/exact_text.h"
#include "base/schema/shape.h"
#include "base/tree/map_reader.h"

namespace shardsim {

// The text of a YAML file as it grows: keeps the indentation and knows which values state their source.
class YamlWriter {
 public:
  explicit YamlWriter(const std::vector<SourcedValue>& sources) : sources_(sources) {}

  const std::string& text() const { return text_; }
  bool is_sourced(std::string_view key) const { return source_of(path_of(key)) != nullptr; }

  void open(std::string_view key) {
    line(std::string(key) + ":");
    path_.emplace_back(key);
  }
  void close() { path_.pop_back(); }

  // `text` as YAML, or the map form of the value when it states its source.
  void put(std::string_view key, const std::string& text);

  // The maps of a list, one a line: the keys that are put between the two are one entry.
  void open_item(std::string_view key, std::size_t index);
  std::string close_item();
  // One item a line, but for lists that state their source.
  void put_list(std::string_view key, const std::vector<std::string>& items);

 private:
  void line(const std::string& text) { text_ += std::string(2 * path_.size(), ' ') + text + "\n"; }
  const SourcedValue* source_of(const std::string& path) const;
  std::string path_of(std::string_view key) const;

  const std::vector<SourcedValue>& sources_;
  std::vector<std::string> path_;
  bool in_item_ = false;
  std::vector<std::string> item_;
  std::string text_;
};

class Fields;

// A struct that says its keys: their names, members, what each may be, and what it means.
template <typename Value>
concept Keyed = requires(Value& value, Fields& map) {
  value.keys(map);
};

// How a scalar of that type is read where nothing more is said of it.
template <typename Value>
auto usual_leaf() {
  if constexpr (std::is_same_v<Value, bool>)
    return flag_leaf();
  else if constexpr (std::is_same_v<Value, Bytes>)
    return bytes_leaf();
  else if constexpr (std::is_same_v<Value, Seconds>)
    return time_leaf();
  else if constexpr (std::is_same_v<Value, Bandwidth>)
    return rate_leaf();
  else if constexpr (std::is_same_v<Value, Flops>)
    return flops_leaf();
  else
    return text_leaf();
}
inline LeafReader<std::int64_t> up_to(int most) {
  return count_leaf(Bounds::from(1).to(most));
}

// One map of a file that is being read, written or described. A struct says its keys once, in the order of the file:
//
//     struct FabricSpec {
//       int nodes_per_leaf = 0;
//       double oversubscription = 1;
//
//       void keys(Fields& map) {
//         map.take("nodes_per_leaf", nodes_per_leaf, up_to(1'000'000), "nodes under one leaf switch");
//         map.take("oversubscription", oversubscription, real_leaf(Bounds::from(1)), "rate down over rate up");
//         map.refuse_if(oversubscription > 1 && nodes_per_leaf == 0, "oversubscription", "...", "...");
//       }
//     };
//
// Reading takes the keys of a MapReader with its errors, and leaves a member as it is where its key is absent. Writing
// puts every key, but for members without a value: an empty std::optional, a number or a word that the key may not
// have. Describing notes what reading accepts, the default and the meaning, for schemas and reference pages; then
// every condition (`where`) holds.
class Fields {
 public:
  explicit Fields(MapReader& reader) : reader_(&reader) {}
  explicit Fields(YamlWriter& writer) : writer_(&writer) {}
  explicit Fields(Shape& described);

  bool reading() const { return reader_ != nullptr; }
  bool writing() const { return writer_ != nullptr; }
  bool describing() const { return shape_ != nullptr; }
  MapReader& reader() { return *reader_; }  // while reading
  YamlWriter& writer() { return *writer_; }
  bool where(bool condition) const { return condition || describing(); }

  // The default of the next key as reference pages say it, where it is no constant of the struct.
  Fields& usual(const char* text);

  // A key that may be absent, or must be there (`need`), or is needed on a condition.
  template <typename Value>
  void take(std::string_view key, Value& value, const char* help);
  template <typename Value, typename Leaf>
  void take(std::string_view key, Value& value, const LeafReader<Leaf>& leaf, const char* help);
  template <typename Value, typename Leaf>
  void take(std::string_view key, std::optional<Value>& value, const LeafReader<Leaf>& leaf, const char* help);
  template <typename... Rest>
  void need(std::string_view key, Rest&&... rest) {
    need_if(true, key, std::forward<Rest>(rest)...);
    if (describing()) must_have(key);
  }
  template <typename... Rest>
  void need_if(bool needed, std::string_view key, Rest&&... rest) {
    if (reading() && needed) reader_->required(key);
    take(key, std::forward<Rest>(rest)...);
  }

  // One of some words; of an int, its digits.
  void choose(std::string_view key, std::string& word, const std::vector<std::string>& words, const char* help);
  void choose(std::string_view key, int& number, const std::vector<std::string>& numbers, const char* help);

  // A map inside this one, whose keys `inside(fields)` says. Reading: a missing map reads as an empty one.
  template <typename Inside>
  void map(std::string_view key, const char* help, const Inside& inside);
  template <typename Inside>
  void need_map(std::string_view key, const char* help, const Inside& inside) {
    if (reading()) reader_->required(key);
    map(key, help, inside);
    if (describing()) must_have(key);
  }
  // The same for one that may be absent: `inside(fields, value)`.
  template <typename Value, typename Inside>
  void map(std::string_view key, std::optional<Value>& value, const char* help, const Inside& inside);
  // A list of maps that may be absent: `inside(fields, item)`.
  template <typename Item, typename Inside>
  void list(std::string_view key, std::vector<Item>& items, const Bounds& length, const char* help,
            const Inside& inside);
  void texts(std::string_view key, std::vector<std::string>& texts, const char* help);

  // A value that code of its own reads and writes, in the form that `shape` says. Null where it is absent, and where
  // nothing is read.
  const Tree* custom(std::string_view key, const Shape& shape, const char* help, bool needed = false);
  void also(const Form& form);  // of the key before: another form, which code of its own reads
  // A key of the file that whoever found the file has read.
  void known(std::string_view key, const Form& form, const char* help);

  // Say what keys demand of each other; none of these does anything while a map is written. The place of an error is
  // the value of `key`, or the map where that is absent.
  void refuse_if(bool wrong, std::string_view key, const std::string& what, const std::string& remedy);
  void refuse(std::string_view key, const char* what, const char* remedy);  // a key that would have no effect
  // `what` is wrong with other numbers of these keys; by default, how many there are.
  void exactly_one_of(const std::vector<std::string>& keys, const std::string& what = "");

 private:
  template <typename Value>
  void take_word(std::string_view key, Value& value, const char* help);
  template <typename Leaf>
  void describe_leaf(std::string_view key, const LeafReader<Leaf>& leaf, const std::string& usual, const char* help);
  Shape::Key& describe(std::string_view key, const std::vector<Form>& forms, const std::string& usual,
                       const char* help);
  void must_have(std::string_view key);
  std::string item_path(std::string_view key, std::size_t index) const;

  MapReader* reader_ = nullptr;
  YamlWriter* writer_ = nullptr;
  Shape* shape_ = nullptr;
  const char* usual_ = nullptr;
};

// The map form of a value that says where it comes from.
Shape sourced_value_shape();

// The shapes of a scalar and of a list of such items, for `custom`.
template <typename Leaf>
Shape leaf_shape(const LeafReader<Leaf>& leaf) {
  Shape shape;
  shape.forms = {leaf.form};
  return shape;
}
Shape list_shape(const Shape& item, const Bounds& length = Bounds::from(0));

// A value as YAML, exactly, or "" where it is none that such a key may have.
std::string word_text(const std::string& text, const Form& form);
template <typename Value>
std::string value_text(const Value& value, const Form& form) {
  if constexpr (std::is_same_v<Value, std::string>)
    return word_text(value, form);
  else if constexpr (std::is_same_v<Value, bool>)
    return value ? "true" : "false";
  else
    return form.bounds.hold(number_of(value)) ? exact_yaml(value) : "";
}

template <typename Value>
void Fields::take(std::string_view key, Value& value, const char* help) {
  if constexpr (Keyed<Value>) {
    map(key, help, [&](Fields& inside) { value.keys(inside); });
  } else if constexpr (requires {
                         requires Keyed<typename Value::value_type>;
                         value.has_value();
                       }) {
    map(key, value, help, [](Fields& inside, auto& held) { held.keys(inside); });
  } else if constexpr (requires { value.has_value(); }) {
    take(key, value, usual_leaf<typename Value::value_type>(), help);
  } else if constexpr (Worded<Value>) {
    take_word(key, value, help);
  } else {
    take(key, value, usual_leaf<Value>(), help);
  }
}

template <typename Value>
void Fields::take_word(std::string_view key, Value& value, const char* help) {
  const std::vector<std::string> words = words_of(value);
  std::string word = words.at(static_cast<std::size_t>(value));
  choose(key, word, words, help);
  value = static_cast<Value>(std::find(words.begin(), words.end(), word) - words.begin());
}

template <typename Value, typename Leaf>
void Fields::take(std::string_view key, Value& value, const LeafReader<Leaf>& leaf, const char* help) {
  if (reading()) {
    value = static_cast<Value>(reader_->get<Leaf>(key, leaf, static_cast<Leaf>(value)));
    return;
  }
  const std::string text = value_text(value, leaf.form);
  if (describing()) return describe_leaf(key, leaf, text, help);
  if (!text.empty()) writer_->put(key, text);
}

template <typename Value, typename Leaf>
void Fields::take(std::string_view key, std::optional<Value>& value, const LeafReader<Leaf>& leaf, const char* help) {
  if (describing()) return describe_leaf(key, leaf, "", help);
  if (reading() ? !reader_->has(key) : !value) return;
  Value held = value.value_or(Value{});
  take(key, held, leaf, help);
  value = held;
}

template <typename Leaf>
void Fields::describe_leaf(std::string_view key, const LeafReader<Leaf>& leaf, const std::string& usual,
                           const char* help) {
  std::vector<Form> forms{leaf.form};
  forms.insert(forms.end(), leaf.also.begin(), leaf.also.end());
  describe(key, forms, usual, help);
}

template <typename Inside>
void Fields::map(std::string_view key, const char* help, const Inside& inside) {
  if (reading()) {
    MapReader reader = reader_->map(key);
    Fields fields(reader);
    inside(fields);
    return reader.finish();
  }
  if (writing()) {
    writer_->open(key);
    inside(*this);
    return writer_->close();
  }
  Shape::Key& described = describe(key, {{Form::Kind::map}}, "{}", help);
  described.sourced = false;
  Fields fields(described.shape);
  inside(fields);
}

template <typename Value, typename Inside>
void Fields::map(std::string_view key, std::optional<Value>& value, const char* help, const Inside& inside) {
  if (!describing() && (reading() ? !reader_->has(key) : !value)) return;
  Value held = value.value_or(Value{});
  if (usual_ == nullptr) usual("-");
  map(key, help, [&](Fields& fields) { inside(fields, held); });
  value = std::move(held);
}

template <typename Item, typename Inside>
void Fields::list(std::string_view key, std::vector<Item>& items, const Bounds& length, const char* help,
                  const Inside& inside) {
  if (describing()) {
    Item item{};
    Shape& shape = describe(key, {{Form::Kind::list, {}, length}}, "[]", help).shape.item.emplace_back();
    shape.forms.push_back({Form::Kind::map});
    Fields fields(shape);
    return inside(fields, item);
  }
  if (writing()) {
    std::vector<std::string> texts;
    for (Item& item : items) {
      writer_->open_item(key, texts.size());
      inside(*this, item);
      texts.push_back(writer_->close_item());
    }
    return texts.empty() ? void() : writer_->put_list(key, texts);
  }
  if (!reader_->has(key)) return;
  items.clear();
  for (const Tree& tree : reader_->list(key, length)) {
    MapReader reader(tree, item_path(key, items.size()), reader_->sources());
    Fields fields(reader);
    inside(fields, items.emplace_back());
    reader.finish();
  }
}

// The keys of a described map and of the maps inside it as Markdown tables (key, type, default, meaning), in the
// notation of docs/formats/conventions.md. Each follows a line with the dotted path of its map, "<!-- keys nvlink -->",
// where the maps in a list have the path of the list. Maps with the same keys have one table, at the first path.
std::string reference_tables(const Shape& root, const std::string& path);

}  // namespace shardsim
