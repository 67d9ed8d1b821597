#include "study/import/python_value.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace shardsim {
namespace {

bool is_name_letter(char c) {
  return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

class PythonReader {
 public:
  PythonReader(std::string_view text, const std::string& source, std::size_t at)
      : text_(text), source_(source), at_(at), line_start_(text.rfind('\n', at) + 1) {
    line_ = 1 + static_cast<int>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
  }

  std::size_t at() const { return at_; }

  Tree value() {
    constexpr int kDeepest = 64;
    if (++depth_ > kDeepest) throw fault("nested deeper than 64 levels", "Write plan._serialize() as JSON");
    skip_blanks();
    Tree made = value_here();
    --depth_;
    return made;
  }

 private:
  Place place() const { return {source_, line_, static_cast<int>(at_ - line_start_) + 1}; }

  Error fault(const std::string& wrong, const std::string& remedy) const {
    return input_error(place(), "a plan as Python prints it: " + wrong, remedy);
  }

  char peek() const {
    if (at_ < text_.size()) return text_[at_];
    throw fault("the text ends before its value does", "Give the whole print, or write plan._serialize() as JSON");
  }

  void next() {
    if (peek() == '\n') {
      ++line_;
      line_start_ = at_ + 1;
    }
    ++at_;
  }

  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r'))
      next();
  }

  void require(char due) {
    skip_blanks();
    if (peek() != due)
      throw fault(fmt::format("'{}' where '{}' is due", peek(), due), "Write plan._serialize() as JSON");
    next();
  }

  bool took(char which) {
    skip_blanks();
    if (peek() != which) return false;
    next();
    return true;
  }

  Tree value_here() {
    const char first = peek();
    if (first == '{') return dict();
    if (first == '[') return list(']');
    if (first == '(') return list(')');
    if (first == '\'' || first == '"') return quoted();
    if (first == '<') return enumeration();
    return word_or_object();
  }

  Tree begun(Tree::Kind kind) const {
    Tree tree;
    tree.kind = kind;
    tree.place = place();
    return tree;
  }

  Tree dict() {
    Tree made = begun(Tree::Kind::map);
    next();
    while (!took('}')) {
      skip_blanks();
      const Tree key = peek() == '\'' || peek() == '"' ? quoted() : word(":");
      require(':');
      made.fields.emplace_back(key.scalar, value());
      if (!took(',') && (skip_blanks(), peek() != '}')) throw fault("a dict is not closed", "Close it with '}'");
    }
    return made;
  }

  Tree list(char end) {
    Tree made = begun(Tree::Kind::list);
    next();
    while (!took(end)) {
      made.items.push_back(value());
      if (!took(',') && (skip_blanks(), peek() != end)) throw fault("a list is not closed", "Close it");
    }
    return made;
  }

  Tree quoted() {
    Tree made = begun(Tree::Kind::scalar);
    made.quoted = true;
    const char quote = peek();
    next();
    while (peek() != quote) {
      if (peek() == '\\') next();
      made.scalar += peek();
      next();
    }
    next();
    return made;
  }

  // <ShardingType.ROW_WISE: 'row_wise'>; of <class 'dict'> or <Statistics object at 0x7f> the words.
  Tree enumeration() {
    Tree made = begun(Tree::Kind::scalar);
    next();
    for (; peek() != ':' && peek() != '>'; next()) made.scalar += peek();
    if (took('>')) return made;
    next();
    made = value();
    require('>');
    return made;
  }

  Tree word(std::string_view more_ends) {
    constexpr std::string_view kEnds = ",()[]{}=> \t\r\n";
    Tree made = begun(Tree::Kind::scalar);
    while (at_ < text_.size() && kEnds.find(text_[at_]) == kEnds.npos && more_ends.find(text_[at_]) == more_ends.npos) {
      made.scalar += text_[at_];
      ++at_;
    }
    if (made.scalar.empty())
      throw fault(fmt::format("'{}' where a value is due", peek()), "Write plan._serialize() as JSON");
    return made;
  }

  Tree word_or_object() {
    Tree made = word("");
    if (at_ < text_.size() && text_[at_] == '(') return object(made.place);
    if (made.scalar == "None") {
      made.kind = Tree::Kind::null;
      made.scalar.clear();
    }
    if (made.scalar == "True" || made.scalar == "False") made.scalar = made.scalar == "True" ? "true" : "false";
    return made;
  }

  // NAME(KEY=VALUE, ...); of an argument without a key, such as the dict of a subclass of dict, the object is that.
  Tree object(const Place& where) {
    Tree made = begun(Tree::Kind::map);
    made.place = where;
    next();
    while (!took(')')) {
      skip_blanks();
      const std::size_t begin = at_;
      while (at_ < text_.size() && is_name_letter(text_[at_])) ++at_;
      if (at_ > begin && at_ < text_.size() && text_[at_] == '=') {
        const std::string key(text_.substr(begin, at_ - begin));
        next();
        made.fields.emplace_back(key, value());
      } else {
        at_ = begin;
        made = value();
      }
      if (!took(',') && (skip_blanks(), peek() != ')')) throw fault("an object is not closed", "Close it with ')'");
    }
    return made;
  }

  std::string_view text_;
  const std::string& source_;
  std::size_t at_, line_start_;
  int line_ = 1, depth_ = 0;
};

}  // namespace

Tree parse_python_value(std::string_view text, const std::string& source, std::size_t at, std::size_t* end) {
  PythonReader reader(text, source, at);
  Tree made = reader.value();
  if (end != nullptr) *end = reader.at();
  return made;
}

}  // namespace shardsim
