// Fitted constants, each said once however many clusters and tables share it.

#include "study/report/sheets/fitted_constants.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/text.h"

namespace shardsim {
namespace {

using Role = Paragraph::Role;
using Constant = SharedConstants::Constant;

constexpr std::size_t kFewOwners = 3;  // that a terminal names before "and 12 more"

std::optional<int> number_of(const std::string& text) {
  int number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, number);
  return failure == std::errc{} && stop == end ? std::optional(number) : std::nullopt;
}

// A key as what stands before and behind its first number: "tables.", 12, ".access.s".
struct NumberedKey {
  std::string before, behind;
  int number = 0;
};

std::optional<NumberedKey> numbered(const std::string& key) {
  const std::vector<std::string> parts = split(key, '.');
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::optional<int> number = number_of(parts[i]);
    if (!number) continue;
    const std::vector<std::string> before(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(i));
    const std::vector<std::string> behind(parts.begin() + static_cast<std::ptrdiff_t>(i) + 1, parts.end());
    return NumberedKey{join(before, ".") + (i > 0 ? "." : ""), (behind.empty() ? "" : ".") + join(behind, "."),
                       *number};
  }
  return std::nullopt;
}

// "1..8,12,14..15"; `numbers` rise.
std::string ranges_text(const std::vector<int>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    text += (text.empty() ? "" : ",") + std::to_string(numbers[i]);
    if (last > i) text += ".." + std::to_string(numbers[last]);
    i = last + 1;
  }
  return text;
}

// Keys of a list that share one value become one key.
std::vector<Constant> collapsed(const std::vector<Constant>& constants) {
  struct Collected {
    Constant constant;
    NumberedKey key;
    std::vector<int> numbers;  // none: the key has no number
  };
  std::vector<Collected> all;
  for (const Constant& constant : constants) {
    const std::optional<NumberedKey> key = numbered(constant.key);
    const auto alike = std::ranges::find_if(all, [&](const Collected& one) {
      return key && !one.numbers.empty() && one.key.before == key->before && one.key.behind == key->behind &&
             one.constant.value == constant.value;
    });
    if (alike != all.end()) {
      alike->numbers.push_back(key->number);
    } else {
      all.push_back({constant, key.value_or(NumberedKey{}), key ? std::vector{key->number} : std::vector<int>{}});
    }
  }
  std::vector<Constant> result;
  for (Collected& one : all) {
    std::ranges::sort(one.numbers);
    if (!one.numbers.empty()) one.constant.key = one.key.before + ranges_text(one.numbers) + one.key.behind;
    result.push_back(std::move(one.constant));
  }
  return result;
}

// The constants of one origin in each file.
std::vector<SharedConstants> by_owner_and_origin(const StudyResult& study) {
  std::vector<SharedConstants> groups;
  for (const SourcedValue& value : study.fitted) {
    const std::size_t colon = value.path.find(": ");
    const bool owned = colon != std::string::npos;
    const std::string owner = owned ? value.path.substr(0, colon) : "";
    auto group = std::ranges::find_if(groups, [&](const SharedConstants& known) {
      return known.owners.front() == owner && known.fitted_on == value.fitted_on && known.source == value.source;
    });
    if (group == groups.end()) group = groups.insert(groups.end(), {{owner}, {}, value.fitted_on, value.source});
    group->constants.push_back({owned ? value.path.substr(colon + 2) : value.path, value.value});
  }
  return groups;
}

std::string origin_of(const SharedConstants& group) {
  return (group.fitted_on.empty() ? "" : "fitted on " + join(group.fitted_on) + "; ") + group.source;
}

std::string few_owners(const std::vector<std::string>& owners) {
  if (owners.size() <= kFewOwners + 1) return join(owners);
  return first_names(owners, kFewOwners);
}

Section constants_on_terminal(const std::vector<SharedConstants>& groups) {
  Section section{"Fitted constants", {}};
  for (const SharedConstants& group : groups) {
    std::vector<std::string> constants;
    for (const Constant& constant : group.constants) constants.push_back(constant.key + ": " + constant.value);
    const std::string owners = few_owners(group.owners);
    section.blocks.emplace_back(Paragraph{(owners.empty() ? "" : owners + ": ") + join(constants), Role::plain, 2});
    section.blocks.emplace_back(Paragraph{origin_of(group), Role::plain, 6});
  }
  return section;
}

Section constants_on_page(const std::vector<SharedConstants>& groups) {
  Sheet sheet;
  sheet.columns = {{"constant", false}, {"value"}, {"fitted on", false}, {"source", false}};
  std::string heading;
  for (const SharedConstants& group : groups) {
    const std::string owners = join(group.owners);
    if (owners != heading) sheet.rows.push_back({{owners}, false});
    heading = owners;
    for (const Constant& constant : group.constants)
      sheet.rows.push_back({{constant.key, constant.value, join(group.fitted_on), group.source}, false});
  }
  return table_section("Fitted constants",
                       "Every constant that was fitted to measurements, and the measurements used. A constant that "
                       "several clusters, workloads or tables share is listed once.",
                       sheet);
}

}  // namespace

std::vector<SharedConstants> shared_constants(const StudyResult& study) {
  std::vector<SharedConstants> shared;
  for (SharedConstants& group : by_owner_and_origin(study)) {
    group.constants = collapsed(group.constants);
    const auto alike = std::ranges::find_if(shared, [&](const SharedConstants& known) {
      return known.constants == group.constants && known.fitted_on == group.fitted_on && known.source == group.source;
    });
    if (alike == shared.end())
      shared.push_back(std::move(group));
    else
      alike->owners.push_back(group.owners.front());
  }
  return shared;
}

Section constants_section(const StudyResult& study, Medium medium) {
  const std::vector<SharedConstants> groups = shared_constants(study);
  return medium == Medium::page ? constants_on_page(groups) : constants_on_terminal(groups);
}

}  // namespace shardsim
