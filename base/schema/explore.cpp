#include "base/schema/explore.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <set>

#include "base/text.h"
#include "base/tree/yaml.h"

namespace shardsim {
namespace {

constexpr int kMostRepairs = 12;        // keys that one try may lack
constexpr std::size_t kSwapValues = 2;  // of a key that takes the place of another one
constexpr int kMostReadings = 40;       // of one try with all its repairs
constexpr int kMostFailures = 2;        // of one value at one place, each in another specimen

// Those of the numbers that are in the bounds, or the least that is where none is.
std::vector<std::string> within(const Bounds& bounds, std::vector<double> numbers) {
  std::erase_if(numbers, [&](double number) { return !bounds.hold(number); });
  if (numbers.empty()) numbers.push_back(bounds.least);
  std::vector<std::string> texts;
  for (const double number : numbers) texts.push_back(fmt::format("{}", number));
  return texts;
}

// The values to try for a form, as YAML. Those for lists hold items of every kind.
std::vector<std::string> values_for(const Form& form) {
  switch (form.kind) {
    case Form::Kind::text:
      return {"x"};
    case Form::Kind::pattern:
      return {};
    case Form::Kind::choice: {
      std::vector<std::string> quoted;
      for (const std::string& word : form.words) quoted.push_back("'" + word + "'");
      return quoted;
    }
    case Form::Kind::flag:
      return {"true", "false"};
    case Form::Kind::count:
      return within(form.bounds, {1, 2, 8});
    case Form::Kind::real:
      return within(form.bounds, {0.5, 1, 2});
    case Form::Kind::share:
      return {"0.5", "0.9"};
    case Form::Kind::percent:
      return {"5 %"};
    case Form::Kind::bytes:
      return {"1 GiB", "64 KiB"};
    case Form::Kind::time:
      return {"3 us", "1 ms"};
    case Form::Kind::rate:
      return {"25 GB/s", "100 GB/s"};
    case Form::Kind::flops:
      return {"1 TFLOP/s"};
    case Form::Kind::list:
      return {"[{}]", "[1]", "[x]", "[0.5]", "[]"};
    case Form::Kind::map:
      return {"{}", "{x: {}}", "{x: x}"};
    case Form::Kind::anything:
      return {};
  }
  return {};
}

// Values to try where a reader takes a value without saying in which form.
const std::vector<std::string>& values_of_no_form() {
  static const std::vector<std::string> kValues{
      "true",
      "1",
      "0.5",
      "x",
      "3 us",
      "25 GB/s",
      "1 GiB",
      "{}",
      "[]",
      "[1]",
      "[x]",
      "[{}]",
      "none",
      "all",
      "{x: {}}",
      "0-1",
      "1 %",
      "[0.5]",
      "{value: 1, source: x, fitted: true, fitted_on: [x], rows_used: 1, error_unused_pct: 1}"};
  return kValues;
}

// A value of a specimen: the way to it from the root, and what stands for the way in all specimens.
struct Spot {
  std::vector<std::size_t> steps;  // of items or fields
  std::string path;
};

Tree& at(Tree& root, const std::vector<std::size_t>& steps) {
  Tree* tree = &root;
  for (const std::size_t step : steps)
    tree = tree->kind == Tree::Kind::list ? &tree->items[step] : &tree->fields[step].second;
  return *tree;
}

class Explorer {
 public:
  Explorer(const Inquiry& inquiry, Shape& shape, Parts& parts) : inquiry_(inquiry), shape_(shape), parts_(parts) {}

  void run() {
    for (const Tree& specimen : inquiry_.specimens) {
      left_ = kMostReadings;
      attempt(specimen, 0);
    }
    while (!accepted_.empty()) {
      const Tree specimen = std::move(accepted_.front());
      accepted_.pop_front();
      vary(specimen, specimen, {{}, path_of(specimen)});
    }
  }

 private:
  // Gives the tree to the reader and repairs it where keys are missing. Returns true when the reader takes it in the
  // end.
  bool attempt(Tree tree, int repairs) {
    if (left_-- <= 0) return false;
    record_what_is_asked(tree);
    bool taken = true;
    try {
      inquiry_.read(tree);
    } catch (const Error&) {
      taken = false;
    }
    gather(tree, taken, shape_, parts_);
    remember(tree, path_of(tree));
    if (!taken) return repairs < kMostRepairs && repair(tree, tree, {{}, path_of(tree)}, repairs);
    accepted_.push_back(std::move(tree));
    return true;
  }

  // Where its keys depend on its name, as those of a planner do, keys of one name tell nothing of those of another.
  static std::string path_of(const Tree& root) {
    if (!root.asked || root.asked->names.empty()) return "";
    const Tree* const name = root.find(root.asked->name_key);
    return name == nullptr ? "" : name->scalar;
  }

  // Which forms a key may have is known when the reader asks for it, which may be after it has missed it.
  void remember(const Tree& tree, const std::string& path) {
    if (!tree.asked) return;
    for (const Asked::Key& key : tree.asked->keys) {
      const Tree* const value = tree.find(key.name);
      std::vector<Form>& forms = forms_[path + "." + key.name];
      add_new(key.forms, forms);
      if (value != nullptr && value->asked) add_new(value->asked->forms, forms);
    }
    each_child(tree, {{}, path}, [&](const Tree& child, const Spot& at) { remember(child, at.path); });
  }

  static void add_new(const std::vector<Form>& more, std::vector<Form>& forms) {
    for (const Form& form : more) {
      if (std::ranges::find(forms, form) == forms.end()) forms.push_back(form);
    }
  }

  // Adds the first key that is required and missing. A reader stops at it, so there is one at most.
  bool repair(const Tree& root, const Tree& tree, const Spot& spot, int repairs) {
    if (is_inner_part(tree, spot)) return false;
    if (tree.asked && tree.kind == Tree::Kind::map) {
      for (const Asked::Key& key : tree.asked->keys) {
        if (!key.required || tree.find(key.name) != nullptr) continue;
        return std::ranges::any_of(values_at(spot, key, nullptr), [&](const std::string& value) {
          return attempt(with(root, spot, key.name, value), repairs + 1);
        });
      }
    }
    bool done = false;
    each_child(tree, spot, [&](const Tree& child, const Spot& at) { done = done || repair(root, child, at, repairs); });
    return done;
  }

  // Such a value has an inquiry of its own.
  static bool is_inner_part(const Tree& tree, const Spot& spot) {
    return !spot.steps.empty() && tree.asked && !tree.asked->part.empty();
  }

  void vary(const Tree& root, const Tree& tree, const Spot& spot) {
    if (!tree.asked || tree.asked->sourced || is_inner_part(tree, spot)) return;
    if (tree.kind == Tree::Kind::map) {
      for (const Asked::Key& key : tree.asked->keys) vary_key(root, tree, spot, key);
    }
    each_child(tree, spot, [&](const Tree& child, const Spot& at) { vary(root, child, at); });
  }

  void vary_key(const Tree& root, const Tree& map, const Spot& spot, const Asked::Key& key) {
    const Tree* const present = map.find(key.name);
    for (const std::string& value : values_at(spot, key, present))
      try_once(spot.path + "." + key.name + ": " + value, [&] { return with(root, spot, key.name, value); });
    if (present == nullptr) return;
    const std::string without_it = spot.path + " without " + key.name;
    if (!try_once(without_it, [&] { return without(root, spot, key.name); })) try_another(root, map, spot, key);
  }

  // Replaces the key by another one that the reader asked for: some readers need any one of several keys.
  void try_another(const Tree& root, const Tree& map, const Spot& spot, const Asked::Key& key) {
    const Tree rest = without(root, spot, key.name);
    for (const Asked::Key& other : map.asked->keys) {
      if (other.name == key.name || map.find(other.name) != nullptr) continue;
      std::vector<std::string> values = values_at(spot, other, nullptr);
      values.resize(std::min(values.size(), kSwapValues));
      for (const std::string& value : values) {
        const std::string swap = spot.path + "." + key.name + " to " + other.name + ": " + value;
        if (try_once(swap, [&] { return with(rest, spot, other.name, value); })) break;
      }
    }
  }

  // Tries an edit until the reader has taken it once or refused it kMostFailures times; returns true when it was taken.
  template <typename Make>
  bool try_once(const std::string& what, const Make& make) {
    int& failures = failures_[what];  // above the most where one was taken
    if (failures >= kMostFailures) return failures > kMostFailures;
    left_ = kMostReadings;
    if (attempt(make(), 0))
      failures = kMostFailures + 1;
    else
      ++failures;
    return failures > kMostFailures;
  }

  // The values to try at a key. A map or list that is there already is not replaced by another one.
  std::vector<std::string> values_at(const Spot& spot, const Asked::Key& key, const Tree* present) const {
    std::vector<std::string> values;
    if (const auto own = inquiry_.values.find(key.name); own != inquiry_.values.end()) return own->second;
    const std::vector<Form>& forms = forms_.at(spot.path + "." + key.name);
    for (const Form& form : forms) {
      if (present != nullptr && present->kind == Tree::Kind::map && form.kind == Form::Kind::map) continue;
      if (present != nullptr && present->kind == Tree::Kind::list && form.kind == Form::Kind::list) continue;
      for (std::string& value : values_for(form)) values.push_back(std::move(value));
    }
    const bool unknown = forms.empty() || (key.forms.empty() && present != nullptr);
    if (unknown) values.insert(values.end(), values_of_no_form().begin(), values_of_no_form().end());
    return values;
  }

  template <typename Visit>
  static void each_child(const Tree& tree, const Spot& spot, const Visit& visit) {
    const auto child = [&](std::size_t step, const std::string& name, const Tree& value) {
      Spot next = spot;
      next.steps.push_back(step);
      next.path += "." + name;
      visit(value, next);
    };
    for (std::size_t i = 0; i < tree.items.size(); ++i) child(i, "*", tree.items[i]);
    const bool named = tree.asked && tree.asked->by_name;
    for (std::size_t i = 0; i < tree.fields.size(); ++i)
      child(i, named ? tree.fields[i].first : "*", tree.fields[i].second);
  }

  static Tree with(const Tree& root, const Spot& spot, const std::string& key, const std::string& value) {
    Tree changed = root;
    Tree& map = at(changed, spot.steps);
    Tree made = parse_yaml_value(value, {"specimen", 0, 0});
    if (Tree* const old = map.find(key)) {
      *old = std::move(made);
    } else {
      map.fields.emplace_back(key, std::move(made));
    }
    return changed;
  }

  static Tree without(const Tree& root, const Spot& spot, const std::string& key) {
    Tree changed = root;
    std::erase_if(at(changed, spot.steps).fields, [&](const auto& field) { return field.first == key; });
    return changed;
  }

  const Inquiry& inquiry_;
  Shape& shape_;
  Parts& parts_;
  std::deque<Tree> accepted_;
  std::map<std::string, int> failures_;             // by what was tried
  std::map<std::string, std::vector<Form>> forms_;  // by the path of a key
  int left_ = 0;                                    // readings of the current try
};

}  // namespace

void explore(const Inquiry& inquiry, Shape& shape, Parts& parts) {
  Explorer(inquiry, shape, parts).run();
}

}  // namespace shardsim
