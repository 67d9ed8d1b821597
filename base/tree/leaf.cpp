#include "base/tree/leaf.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace shardsim {
namespace {

// The text of a value: a leaf that knows more of it has said so before.
void note_scalar(const Tree& tree) {
  const auto is_scalar = [](const Form& form) {
    return form.kind != Form::Kind::list && form.kind != Form::Kind::map && form.kind != Form::Kind::anything;
  };
  if (tree.asked && std::ranges::none_of(tree.asked->forms, is_scalar)) note_form(tree, {Form::Kind::text});
}

// A reader by `parse` that refuses values outside the bounds.
template <typename Value>
LeafReader<Value> bounded(const Form& form, const char* expected, Value (*parse)(std::string_view, const Place&),
                          const std::string& advice = "") {
  const auto read = [bounds = form.bounds, parse, advice](std::string_view text, const Place& place) {
    const Value value = parse(text, place);
    refuse_outside(bounds, number_of(value), text, place, advice);
    return value;
  };
  return {form, expected, read};
}

// No machine has a quantity outside of these bounds, and a simulation would divide by it until its times mean nothing.
template <typename Quantity>
LeafReader<Quantity> in_reason(const Form& form, const char* expected,
                               Quantity (*parse)(std::string_view, const Place&), double Quantity::*member,
                               const std::string& range) {
  const auto read = [bounds = form.bounds, parse, member, range](std::string_view text, const Place& place) {
    const Quantity quantity = parse(text, place);
    if (bounds.hold(quantity.*member)) return quantity;
    throw input_error(place, excerpt(text) + " is outside the range that can be simulated",
                      fmt::format("Write a value {}. Is the unit right?", range));
  };
  return {form, expected, read};
}

bool parse_flag(std::string_view text, const Place& place) {
  if (text == "true") return true;
  if (text == "false") return false;
  throw input_error(place, excerpt(text) + " is neither true nor false", "Write true or false");
}

}  // namespace

const std::string& scalar_text(const Tree& tree, std::string_view expected) {
  note_scalar(tree);
  if (tree.kind == Tree::Kind::scalar) return tree.scalar;
  const std::string found =
      tree.kind == Tree::Kind::null ? "there is no value" : kind_name(tree.kind) + " is no value here";
  throw input_error(tree.place, found, fmt::format("Write {}", expected));
}

LeafReader<std::int64_t> count_leaf(const Bounds& bounds, const std::string& advice) {
  return bounded({Form::Kind::count, {}, bounds}, "a whole number, for example 8", parse_count, advice);
}

LeafReader<double> real_leaf(const Bounds& bounds, const std::string& advice) {
  return bounded({Form::Kind::real, {}, bounds}, "a number, for example 0.5", parse_real, advice);
}

LeafReader<double> share_leaf(const Bounds& bounds, const std::string& advice) {
  return bounded({Form::Kind::share, {}, bounds}, "a share, for example 0.6 or \"60 %\"", parse_share, advice);
}

LeafReader<double> efficiency_leaf() {
  return share_leaf(Bounds::from(kLeastFactor).to(1), "a rate is worth simulating down to a millionth of it");
}

LeafReader<double> factor_leaf(double most) {
  return real_leaf(Bounds::from(kLeastFactor).to(most));
}

LeafReader<Bytes> bytes_leaf(const Bounds& bounds, const std::string& advice) {
  return bounded({Form::Kind::bytes, {}, bounds}, "a size, for example \"40 GiB\"", parse_bytes, advice);
}

LeafReader<Bytes> signed_bytes_leaf() {
  return bounded({Form::Kind::bytes}, "bytes, such as \"0 B\" or \"-200 MB\"", parse_signed_bytes);
}

LeafReader<double> percent_leaf(const Bounds& bounds) {
  return bounded({Form::Kind::percent, {}, bounds}, "a percentage, for example \"5 %\"", parse_percent);
}

namespace {

// In seconds from one second up, else in us: of round limits.
std::string most_text(Seconds most) {
  return most.value >= 1 ? fmt::format("{:.0f} s", most.value) : fmt::format("{:g} us", most.us());
}

}  // namespace

LeafReader<Seconds> time_leaf(Seconds most) {
  return in_reason({Form::Kind::time, {}, Bounds::from(0).to(most.value)}, "a time, for example \"3 us\"",
                   parse_seconds, &Seconds::value, "of at most " + most_text(most));
}

LeafReader<Bandwidth> rate_leaf() {
  return in_reason({Form::Kind::rate, {}, Bounds::from(1e3).to(1e18)}, "a rate, for example \"25 GB/s\"",
                   parse_bandwidth, &Bandwidth::bytes_per_second, "from 1 KB/s to 1000000 TB/s");
}

LeafReader<Flops> flops_leaf() {
  return in_reason({Form::Kind::flops, {}, Bounds::from(1e3).to(1e24)}, "a compute rate, for example \"19.5 TFLOP/s\"",
                   parse_flops, &Flops::per_second, "from 1 KFLOP/s to 1e24 FLOP/s");
}

LeafReader<bool> flag_leaf() {
  return {{Form::Kind::flag}, "true or false", parse_flag};
}

LeafReader<std::string> word_leaf(const std::vector<std::string>& words, const std::string& noun) {
  const auto parse = [words, noun](std::string_view text, const Place& place) {
    if (std::ranges::find(words, text) != words.end()) return std::string(text);
    const std::string wrong =
        noun.empty() ? excerpt(text) + " is not known here" : "unknown " + noun + " " + excerpt(text);
    throw input_error(place, wrong, known_names_hint(text, words));
  };
  return {{Form::Kind::choice, words}, "one of " + join(words), parse};
}

LeafReader<std::string> text_leaf(const TextRule& rule) {
  const auto parse = [rule](std::string_view text, const Place& place) {
    const bool letters = rule.letters.empty() || text.find_first_not_of(rule.letters) == text.npos;
    if (letters && rule.length.hold(static_cast<double>(text.size()))) return std::string(text);
    throw input_error(place, excerpt(text) + " " + rule.fault, rule.advice);
  };
  Form form{Form::Kind::text, {}, rule.length, std::string(rule.letters)};
  if (*rule.also != '\0') form.words.emplace_back(rule.also);
  return {form, "a text", parse};
}

LeafReader<Seconds> long_time_leaf() {
  LeafReader<Seconds> leaf = time_leaf();
  leaf.expected = "a time, for example \"600 s\"";
  leaf.parse = [parse = leaf.parse](std::string_view text, const Place& place) {
    const bool is_bare = !text.empty() && text.find_first_not_of("0123456789.") == std::string_view::npos;
    if (!is_bare) return parse(text, place);
    throw input_error(place, fmt::format("{} has no unit", excerpt(text)),
                      fmt::format("Write for example \"{} s\"", text.substr(0, 40)));
  };
  return leaf;
}

}  // namespace shardsim
