#include "study/sweep/filter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <vector>

#include "base/text.h"
#include "base/tree/map_reader.h"

namespace shardsim {

// A number, a name (or a text in quotes), or two terms with a sign between them.
struct Filter::Term {
  char sign = 0;  // + - * /; 0: a leaf
  std::shared_ptr<const Term> left{}, right{};
  std::optional<Amount> number{};
  std::string name{};
  bool quoted = false;
};

namespace {

using TermPtr = std::shared_ptr<const Filter::Term>;

constexpr int kMostParentheses = 64;  // parentheses in each other
// + - * / of a condition. Each is a call within a call: a sum of thirty thousand terms needs more stack than there is.
constexpr int kMostSigns = 1000;
constexpr const char* kFilterExample = "Write for example: cluster.nodes * workload.batch_per_gpu <= 65536";

bool begins_name(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_';
}
bool is_in_name(char c) {
  return begins_name(c) || std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '.';
}
bool begins_number(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '.';
}

// Reads a condition from left to right.
class FilterParser {
 public:
  FilterParser(const std::string& text, const Place& place) : text_(text), place_(place) {}

  TermPtr side() {
    TermPtr sum = product();
    for (char sign = next(); sign == '+' || sign == '-'; sign = next()) {
      ++at_;
      sum = both(sign, sum, product());
    }
    return sum;
  }

  std::string relation() {
    next();
    for (const char* const known : {"<=", ">=", "==", "!=", "<", ">"}) {
      if (text_.compare(at_, std::string_view(known).size(), known) != 0) continue;
      at_ += std::string_view(known).size();
      return known;
    }
    refuse("a comparison is missing");
  }

  void finish() {
    if (next() != '\0') refuse("more follows");
  }

 private:
  TermPtr product() {
    TermPtr result = leaf();
    for (char sign = next(); sign == '*' || sign == '/'; sign = next()) {
      ++at_;
      result = both(sign, result, leaf());
    }
    return result;
  }

  TermPtr leaf() {
    const char c = next();
    if (c == '(') return inside();
    if (c == '"' || c == '\'') return quoted(c);
    if (begins_number(c) || c == '-') return number();
    if (!begins_name(c)) refuse("a number, a path or a text is missing");
    auto name = std::make_shared<Filter::Term>();
    while (at_ < text_.size() && is_in_name(text_[at_])) name->name += text_[at_++];
    return name;
  }

  TermPtr inside() {
    if (++depth_ > kMostParentheses) refuse("too many parentheses");
    ++at_;
    TermPtr result = side();
    if (next() != ')') refuse("a parenthesis is open");
    ++at_;
    --depth_;
    return result;
  }

  TermPtr quoted(char quote) {
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string::npos) refuse("a quote is open");
    auto term = std::make_shared<Filter::Term>();
    term->name = text_.substr(at_ + 1, end - at_ - 1);
    term->quoted = true;
    at_ = end + 1;
    return term;
  }

  // With the unit behind it: letters, and "/s".
  TermPtr number() {
    const std::size_t begin = at_;
    const auto take = [&](const auto& is_part) {
      while (at_ < text_.size() && is_part(text_[at_])) ++at_;
    };
    if (text_[at_] == '-') ++at_;
    take(begins_number);
    if (at_ < text_.size() && text_[at_] == 'e') ++at_, take([](char c) { return begins_number(c) || c == '-'; });
    const std::size_t end = at_;
    if (at_ < text_.size() && text_[at_] == ' ') ++at_;
    const std::size_t unit = at_;
    take([](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '%'; });
    if (at_ > unit && text_.compare(at_, 2, "/s") == 0) at_ += 2;
    if (at_ == unit) at_ = end;
    auto term = std::make_shared<Filter::Term>();
    term->number = amount_of(text_.substr(begin, at_ - begin));
    if (!term->number) refuse(excerpt(text_.substr(begin, at_ - begin)) + " is no number");
    return term;
  }

  TermPtr both(char sign, TermPtr left, TermPtr right) {
    if (++signs_ > kMostSigns) refuse(fmt::format("it has more than {} signs", kMostSigns));
    auto term = std::make_shared<Filter::Term>();
    term->sign = sign;
    term->left = std::move(left);
    term->right = std::move(right);
    return term;
  }

  // The next character that is no blank; NUL at the end.
  char next() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  [[noreturn]] void refuse(const std::string& wrong) const {
    throw input_error(place_, fmt::format("condition {}: {} at character {}", excerpt(text_), wrong, at_ + 1),
                      kFilterExample);
  }

  const std::string& text_;
  const Place& place_;
  std::size_t at_ = 0;
  int depth_ = 0, signs_ = 0;
};

// Computes whether a condition holds at one point.
class FilterPoint {
 public:
  FilterPoint(const std::string& text, const Place& place, const NamedValues& values)
      : text_(text), place_(place), values_(values) {}

  bool compare(const std::string& relation, const Filter::Term& left, const Filter::Term& right) const {
    const std::optional<FilterValue> a = value(left), b = value(right);
    const bool texts = (a && std::holds_alternative<std::string>(*a)) || (b && std::holds_alternative<std::string>(*b));
    if (texts && (relation == "==" || relation == "!=")) return (word(a, left) == word(b, right)) == (relation == "==");
    const Amount x = number(a, left), y = number(b, right);
    if (x.kind != y.kind) refuse("it compares different units");
    return related(relation, x.value(), y.value());
  }

 private:
  static bool related(const std::string& relation, double x, double y) {
    if (relation == "<") return x < y;
    if (relation == "<=") return x <= y;
    if (relation == ">") return x > y;
    if (relation == ">=") return x >= y;
    return (x == y) == (relation == "==");
  }

  // Nothing for a name that nobody has: a text beside a text.
  std::optional<FilterValue> value(const Filter::Term& term) const {
    if (term.number) return *term.number;
    if (term.sign != 0) return combined(term);
    if (term.quoted) return term.name;
    return values_(term.name);
  }

  Amount combined(const Filter::Term& term) const {
    const Amount x = number(value(*term.left), *term.left), y = number(value(*term.right), *term.right);
    const bool sum = term.sign == '+' || term.sign == '-';
    Amount result{0, "", x.kind, 1};
    if (sum && x.kind != y.kind) refuse("it adds different units");
    if (term.sign == '*') {
      if (x.kind != Amount::Kind::plain && y.kind != Amount::Kind::plain) refuse("it multiplies two units");
      result.kind = x.kind == Amount::Kind::plain ? y.kind : x.kind;
    }
    if (term.sign == '/') {
      if (y.kind != Amount::Kind::plain && x.kind != y.kind) refuse("it divides different units");
      if (y.kind == x.kind) result.kind = Amount::Kind::plain;
    }
    result.number = of(term.sign, x.value(), y.value());
    return result;
  }

  static double of(char sign, double x, double y) {
    switch (sign) {
      case '+':
        return x + y;
      case '-':
        return x - y;
      case '*':
        return x * y;
      default:
        return x / y;
    }
  }

  Amount number(const std::optional<FilterValue>& found, const Filter::Term& term) const {
    if (!found) refuse_name(term);
    if (const Amount* amount = std::get_if<Amount>(&*found)) return *amount;
    refuse(excerpt(std::get<std::string>(*found)) + " is no number");
  }

  std::string word(const std::optional<FilterValue>& found, const Filter::Term& term) const {
    if (!found) return term.name;
    if (const std::string* text = std::get_if<std::string>(&*found)) return *text;
    const Amount& amount = std::get<Amount>(*found);
    return amount_text(amount.number, amount);
  }

  [[noreturn]] void refuse_name(const Filter::Term& term) const {
    refuse(excerpt(term.name) + " is neither an axis nor a value of the case");
  }
  [[noreturn]] void refuse(const std::string& wrong) const {
    throw input_error(place_, fmt::format("condition {}: {}", excerpt(text_), wrong), kFilterExample);
  }

  const std::string& text_;
  const Place& place_;
  const NamedValues& values_;
};

}  // namespace

Form condition_form() {
  const std::string number = "-?[0-9.]+(e[0-9.-]+)?( ?[A-Za-z%]+(/s)?)?";
  const std::string leaf = "([A-Za-z_][A-Za-z0-9_.]*|\"[^\"]*\"|'[^']*'|" + number + ")";
  const std::string side = fmt::format("[( ]*{0}[) ]*([+*/-][( ]*{0}[) ]*)*", leaf);
  return {Form::Kind::pattern, {fmt::format("^{0}(<=|>=|==|!=|<|>){0}$", side)}};
}

Filter::Filter(const Tree& stated) : place_(stated.place) {
  note_form(stated, condition_form());
  text_ = scalar_text(stated, "a condition");
  FilterParser parser(text_, place_);
  left_ = parser.side();
  relation_ = parser.relation();
  right_ = parser.side();
  parser.finish();
}

bool Filter::holds(const NamedValues& values) const {
  return FilterPoint(text_, place_, values).compare(relation_, *left_, *right_);
}

}  // namespace shardsim
