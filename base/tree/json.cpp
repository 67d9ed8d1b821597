#include "base/tree/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/encoding.h"
#include "base/files.h"
#include "base/text.h"
#include "base/tree/tree_builder.h"

namespace shardsim {
namespace {

// Plans and programs of large worlds are long lists; maps as wide as a model has tables.
constexpr TreeLimits kLimits{.depth = 64,
                             .values = 5'000'000,
                             .keys_per_map = 1'000'000,
                             .remedy = "Give a smaller file: of fewer tables, shards or operations"};

// The position that the parser has reached.
struct Progress {
  const char* at = nullptr;          // behind the last character that was read
  const char* line_start = nullptr;  // the first character of its line
  int line = 1;
};

// Walks the text and counts its lines on the way; nlohmann's own positions are lost before its events come.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = char;

  CountingIterator(const char* at, Progress* progress) : at_(at), progress_(progress) {}

  char operator*() const { return *at_; }
  CountingIterator& operator++() {
    const char read = *at_++;
    progress_->at = at_;
    if (read == '\n') {
      ++progress_->line;
      progress_->line_start = at_;
    }
    return *this;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }

 private:
  const char* at_;
  Progress* progress_;
};

struct JsonFault {
  std::string wrong, remedy;
};

// The parser's objection in words for people; its own message names its internal states and types. `token`: the last
// one that the parser read.
JsonFault fault_of(std::string_view said, const std::string& token) {
  const auto has = [&](std::string_view part) { return said.find(part) != said.npos; };
  if (has("number overflow")) return {"the number " + excerpt(token) + " is too large", "Write a smaller one"};
  if (has("unexpected end of input"))
    return {"the text ends before its document does", "Close the brackets, or write the file again if it is cut off"};
  if (has("expected end of input")) return {excerpt(token) + " after the end of the document", "Write one document"};
  if (has("missing closing quote")) return {"a text is not closed", "End it with a double quote"};
  if (has("control character"))
    return {"a text holds a line end or a control character", "Close its quote, or write \\n and \\t"};
  if (has("invalid string")) return {"a text holds an escape that JSON does not know", "Write \\\\ for a backslash"};
  if (has("invalid number")) return {excerpt(token) + " begins no number", "Write one as 1, -2, 0.5 or 1e9"};
  if (has("invalid literal"))
    return {excerpt(token) + " is no value", "Write a number, true, false, null, or a text in double quotes"};
  return {excerpt(token) + " where something else is due",
          "Look for a bracket, a comma or a colon too much or too few"};
}

bool in_number(char c) {
  return (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '+' || c == 'e' || c == 'E';
}

bool in_word(char c) {
  return c >= 'a' && c <= 'z';
}

// The first character of the value or key that was read last, and ends before `end`; a number is known to end only by
// the character after it. `begin` is that of the text.
const char* start_of_token(const char* begin, const char* end) {
  const auto back = [&](const char* at, auto belongs) {
    while (at > begin && belongs(at[-1])) --at;
    return at;
  };
  if (end == begin) return begin;
  const char last = end[-1];
  if (last == '{' || last == '[') return end - 1;
  if (in_word(last) && last != 'e') return back(end, in_word);
  if (last != '"') {
    // "true" and "false" end as a number of the form 1e cannot.
    if (last == 'e' && end - begin > 1 && in_word(end[-2])) return back(end, in_word);
    return back(in_number(last) ? end : end - 1, in_number);
  }
  for (const char* at = end - 2; at > begin; --at) {
    if (*at != '"') continue;
    const char* slash = at;
    while (slash > begin && slash[-1] == '\\') --slash;
    if ((at - slash) % 2 == 0) return at;
  }
  return begin;
}

// nlohmann's events; each returns true to go on.
class SaxHandler : public nlohmann::json_sax<nlohmann::json> {
 public:
  SaxHandler(const std::string& source, const char* begin, const Progress& progress)
      : source_(source), begin_(begin), progress_(progress), builder_(kLimits) {}

  Tree take() { return builder_.take(); }

  // The place of the value or key that was read last. The character after a number may be a line end.
  Place place() const {
    const char* const start = start_of_token(begin_, progress_.at);
    if (start >= progress_.line_start) return placed(progress_.line, progress_.line_start, start);
    const char* line = start;
    while (line > begin_ && line[-1] != '\n') --line;
    return placed(progress_.line - 1, line, start);
  }

  bool null() override { return leaf("", false, Tree::Kind::null); }
  bool boolean(bool value) override { return leaf(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override { return leaf(std::to_string(value)); }
  bool number_unsigned(number_unsigned_t value) override { return leaf(std::to_string(value)); }
  bool number_float(number_float_t, const string_t& text) override { return leaf(text); }
  bool string(string_t& text) override { return leaf(std::move(text), true); }
  bool binary(binary_t&) override { return false; }

  bool start_object(std::size_t) override { return builder_.open(Tree::Kind::map, place()), true; }
  bool start_array(std::size_t) override { return builder_.open(Tree::Kind::list, place()), true; }
  bool end_object() override { return builder_.close(), true; }
  bool end_array() override { return builder_.close(), true; }
  bool key(string_t& name) override { return builder_.key(std::move(name), place()), true; }

  bool parse_error(std::size_t, const std::string& token, const nlohmann::detail::exception& error) override {
    const JsonFault fault = fault_of(error.what(), token);
    const bool ended = progress_.at > begin_ && progress_.at[-1] == '\n';  // what is wrong stands before the line end
    throw input_error({source_, progress_.line - (ended ? 1 : 0)}, "not JSON: " + fault.wrong, fault.remedy);
  }

 private:
  Place placed(int line, const char* line_start, const char* at) const {
    return {source_, line, static_cast<int>(at - line_start) + 1};
  }
  bool leaf(std::string text, bool quoted = false, Tree::Kind kind = Tree::Kind::scalar) {
    return builder_.leaf(kind, std::move(text), quoted, place()), true;
  }

  const std::string& source_;
  const char* begin_;
  const Progress& progress_;
  TreeBuilder builder_;
};

void refuse_binary(std::string_view text, const std::string& source) {
  std::size_t bad = 0;
  if (is_plain_text(text, bad)) return;
  if (const auto format = binary_format(text))
    throw input_error({source}, fmt::format("the file is {}", format->name), std::string(format->remedy));
  const auto lines = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(bad), '\n');
  throw input_error({source, static_cast<int>(lines) + 1}, "binary, not text", "JSON files are UTF-8 text");
}

}  // namespace

Tree parse_json(std::string_view text, const std::string& source) {
  refuse_binary(text, source);
  if (first_character(text) == '\0')
    throw input_error({source, 1}, "not JSON: the file is empty", "It must hold a document");
  Progress progress{text.data(), without_byte_order_mark(text).data()};
  SaxHandler handler(source, text.data(), progress);
  nlohmann::json::sax_parse(CountingIterator(text.data(), &progress),
                            CountingIterator(text.data() + text.size(), &progress), &handler);
  return handler.take();
}

Tree read_json_file(const std::string& path) {
  return parse_json(read_file(path), path);
}

bool has_readable_length(std::string_view text) {
  std::size_t values = 1;
  bool in_text = false, escaped = false;
  for (const char c : text) {
    if (c == '"' && !escaped) in_text = !in_text;
    escaped = in_text && c == '\\' && !escaped;
    if (!in_text && c == ',') ++values;
  }
  return values <= kLimits.values;
}

}  // namespace shardsim
