#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "base/tree/map_reader.h"
#include "plan/plan.h"
#include "study/scenario/read_case.h"

namespace shardsim {
namespace {

// A number that somebody may publish, and the unit that it is told in.
struct Quantity {
  std::string name;
  std::string unit;
};

std::vector<Quantity> made_quantities() {
  std::vector<Quantity> all{{"iteration", "ms"},          {"throughput_gain", "%"},   {"memory_saved", "GiB"},
                            {"peak_memory", "GiB"},       {"input_all_to_all", "ms"}, {"dense_all_reduce", "ms"},
                            {"exposed_collectives", "ms"}};
  for (const char* const kind : {"attention", "products", "elementwise", "embedding", "others"})
    all.push_back({fmt::format("kernels:{}", kind), "ms"});
  for (const char* const reach : {"global", "intra_node", "cross_node"}) {
    for (const char* const kind : {"all_to_all", "all_reduce", "reduce_scatter", "all_gather"}) {
      all.push_back({fmt::format("{}_{}", reach, kind), "ms"});
    }
  }
  for (const std::string& strategy : strategy_names()) {
    all.push_back({fmt::format("rows:{}", strategy), "rows"});
    all.push_back({fmt::format("coverage:{}", strategy), "%"});
  }
  return all;
}

// Asked of every published figure of every case.
const std::vector<Quantity>& quantities() {
  static const std::vector<Quantity> all = made_quantities();
  return all;
}

std::vector<std::string> quantity_names() {
  std::vector<std::string> names;
  for (const Quantity& entry : quantities()) names.push_back(entry.name);
  return names;
}

std::string read_quantity(MapReader& reader) {
  const Tree& stated = reader.required("quantity");
  note_form(stated, {Form::Kind::choice, quantity_names()});
  note_form(stated, {Form::Kind::pattern, {fmt::format("^{}.", kOperationPrefix)}});
  note_form(stated, {Form::Kind::pattern, {fmt::format("^{}[1-9][0-9]{{0,8}}$", kRunPrefix)}});
  return scalar_text(stated, "a quantity, such as iteration");
}

bool is_run(std::string_view quantity) {
  constexpr std::size_t kMostDigits = 9;
  if (!quantity.starts_with(kRunPrefix)) return false;
  const std::string_view number = quantity.substr(kRunPrefix.size());
  return !number.empty() && number.size() <= kMostDigits && number.front() != '0' &&
         number.find_first_not_of("0123456789") == std::string_view::npos;
}

std::string unit_of(const std::string& quantity, const Place& place) {
  if (is_run(quantity)) return "ms";
  if (quantity.starts_with(kOperationPrefix) && quantity.size() > kOperationPrefix.size()) return "ms";
  const std::vector<Quantity>& all = quantities();
  const auto found = std::ranges::find(all, quantity, &Quantity::name);
  if (found != all.end()) return found->unit;
  std::vector<std::string> known = quantity_names();
  known.push_back(fmt::format("{}NAME", kOperationPrefix));
  known.push_back(fmt::format("{}BATCHES", kRunPrefix));
  throw input_error(place, fmt::format("unknown quantity {}", excerpt(quantity)), known_names_hint(quantity, known));
}

// "307 ms" passes through seconds and comes back as 306.99999999999994; a picosecond is near enough.
double to_ms(Seconds time) {
  return std::round(time.ms() * 1e9) / 1e9;
}

constexpr double kLeastTime = 5e-13;  // in seconds: to_ms makes zero of less

// As `leaf` reads it, and noted as `least` or more, or as above 0: read_value refuses zero.
template <typename Value>
Value not_zero(LeafReader<Value> leaf, double least, const Tree& tree) {
  leaf.form.bounds.least = least;
  leaf.form.bounds.without_least = least == 0;
  return leaf(tree);
}

double percent_of(const Tree& tree) {
  note_form(tree, {Form::Kind::percent, {}, Bounds{.most = 0, .without_most = true}});
  return not_zero(percent_leaf(), 0, tree);
}

double value_of(const Tree& tree, const std::string& unit) {
  if (unit == "ms") return to_ms(not_zero(time_leaf(), kLeastTime, tree));
  if (unit == "GiB") return static_cast<double>(signed_bytes_leaf()(tree).count) / kGiB;
  if (unit == "rows") return static_cast<double>(not_zero(count_leaf(), 1, tree));
  return percent_of(tree);
}

// A share of the accesses cannot leave 0 to 100 %; a gain may be a loss.
void check_coverage(const std::string& quantity, double value, const Place& place) {
  if (!quantity.starts_with("coverage:") || (value >= 0 && value <= 100)) return;
  throw input_error(place, fmt::format("a coverage of {} %", value), "Write a share from 0 % to 100 %");
}

double read_value(MapReader& reader, const std::string& unit, const std::string& quantity) {
  const Tree& tree = reader.required("value");
  const double value = value_of(tree, unit);
  check_coverage(quantity, value, tree.place);
  if (value != 0) return value;
  throw input_error(tree.place, fmt::format("the published value of '{}' is zero", quantity),
                    "Leave it out: an error cannot be given in percent of zero");
}

// Returns the parts of an iteration that may have a fitted share.
std::vector<std::string> fitted_part_names() {
  std::vector<std::string> names{"host"};
  for (const std::string& quantity : quantity_names())
    if (quantity.starts_with("kernels:")) names.push_back(quantity);
  return names;
}

void read_role(MapReader& reader, Published& published) {
  const std::vector<std::string> words = words_of(published.role);
  const auto word = std::ranges::find(words, reader.choice("role", words));
  published.role = static_cast<PublishedRole>(word - words.begin());
  published.seen_before = reader.flag("seen_before", false);
  published.fitted_in = reader.words("fitted_in", fitted_part_names(), "part of an iteration");
  const bool partly = published.role == PublishedRole::partly_fitted;
  if (partly == published.fitted_in.empty())
    throw input_error(reader.place_of(partly ? "role" : "fitted_in"),
                      partly ? "a partly fitted number does not say what of it is fitted"
                             : "'fitted_in' is of numbers that are partly fitted",
                      "Write role: partly_fitted and fitted_in: [host], or neither");
  if (partly && published.quantity != "iteration")
    throw input_error(reader.place_of("role"), fmt::format("{} cannot be partly fitted", excerpt(published.quantity)),
                      "Only iterations have parts");
}

Published read_one(const Tree& tree) {
  MapReader reader(tree, "published");
  Published published;
  published.quantity = read_quantity(reader);
  published.unit = unit_of(published.quantity, reader.place_of("quantity"));
  published.value = read_value(reader, published.unit, published.quantity);
  read_role(reader, published);
  published.source = reader.text("source", kNotEmpty);
  if (published.source.find_first_not_of(" \t\n") == std::string::npos) {
    throw input_error(reader.place_of("source"), "the source is empty", "Say where the number was published");
  }
  published.at_observed_payload = reader.choice("payload", {"planned", "observed"}, "planned") == "observed";
  published.derived = reader.flag("derived", false);
  published.note = reader.text("note", "");
  reader.finish();
  return published;
}

void refuse_repeated(const std::vector<Published>& published, const Place& place) {
  const Published& last = published.back();
  for (std::size_t i = 0; i + 1 < published.size(); ++i) {
    if (published[i].quantity != last.quantity || published[i].at_observed_payload != last.at_observed_payload)
      continue;
    throw input_error(place, fmt::format("'{}' is published twice", last.quantity), "Keep one of the two");
  }
}

}  // namespace

std::vector<std::string> words_of(PublishedRole) {
  return {"predicted", "partly_fitted", "fitted"};
}

std::vector<Published> read_published(const Tree& list) {
  note_form(list, {Form::Kind::list});
  if (list.kind != Tree::Kind::list) {
    throw input_error(list.place, fmt::format("'published' must be a list, but is {}", kind_name(list.kind)),
                      "Write one map per number, each with a dash in front.");
  }
  std::vector<Published> published;
  for (const Tree& item : list.items) {
    published.push_back(read_one(item));
    refuse_repeated(published, item.place);
  }
  return published;
}

}  // namespace shardsim
