#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "base/text.h"
#include "plan/planners/plan_parts.h"

namespace shardsim {
namespace {

// Patterns of table names, each with a planner for the tables that it is the first to fit.
class PerTable : public Planner {
 public:
  explicit PerTable(MapReader& options) {
    const Tree& tables = options.required("tables");
    place_ = tables.place;
    note_form(tables, stated_map(1));
    if (tables.kind != Tree::Kind::map || tables.fields.empty()) {
      throw input_error(place_,
                        tables.kind == Tree::Kind::map
                            ? "'tables' is empty"
                            : fmt::format("'tables' must be a map, but is {}", kind_name(tables.kind)),
                        "Write {\"PATTERN\": PLANNER, ...}, such as {\"history*\": flexshard_3tier, \"*\": torchrec}");
    }
    for (const auto& [pattern, value] : tables.fields) add(pattern, value);
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      const bool name = entries_[i].key.find_first_of("*?") == std::string::npos;
      (name ? names_[entries_[i].key] : patterns_).push_back(i);
    }
  }

  Plan plan(const Workload& workload, const Cluster& cluster, const PlannerContext& context) const override {
    return plan_in_parts(parts_of(workload), workload, cluster, context);
  }

 private:
  struct Entry {
    std::string pattern;
    std::string key;   // as names of tables are compared with it
    std::string name;  // of the planner
    std::unique_ptr<Planner> planner;
    Place place;
  };

  void add(const std::string& pattern, const Tree& value) {
    const Tree map = named_map(value, planner_names());
    if (map.kind != Tree::Kind::map) {
      throw input_error(value.place,
                        fmt::format("the planner of tables {} must be a name or a map, but is {}", excerpt(pattern),
                                    kind_name(map.kind)),
                        "Write the name of a planner, or a map of its name and options");
    }
    const Tree* const name = map.find("name");
    if (name != nullptr && name->scalar == "per_table") {
      throw input_error(value.place,
                        fmt::format("tables {}: per_table cannot be used inside per_table", excerpt(pattern)),
                        "Write its patterns directly in this map, in front of this one");
    }
    if (const Tree* const start = map.find("start")) {
      throw input_error(
          start->place,
          fmt::format("tables {}: 'start' names a plan of all tables, but this part plans only some of them",
                      excerpt(pattern)),
          "Leave it out, or let 'search' plan all tables");
    }
    try {
      entries_.push_back(
          {pattern, as_key(pattern), name == nullptr ? "" : name->scalar, make_planner(map), value.place});
    } catch (const Error& error) {
      throw named_error(error, "tables " + excerpt(pattern));
    }
  }

  std::vector<PlanPart> parts_of(const Workload& workload) const {
    std::vector<PlanPart> parts;
    for (const Entry& entry : entries_) {
      parts.push_back(
          {fmt::format("tables {} ({})", excerpt(entry.pattern), entry.name), entry.name, entry.planner.get(), {}});
    }
    std::vector<bool> fits(entries_.size(), false);
    std::vector<std::string> left;
    for (std::size_t table = 0; table < workload.tables.size(); ++table) {
      const std::optional<std::size_t> first = first_fit(workload.tables[table].name, fits);
      if (first) {
        parts[*first].tables.push_back(static_cast<int>(table));
      } else {
        left.push_back(workload.tables[table].name);
      }
    }
    refuse_left(left);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (parts[i].tables.empty()) refuse_idle(entries_[i], fits[i]);
    }
    return parts;
  }

  // The first pattern that fits the name; `fits` gets all that do.
  std::optional<std::size_t> first_fit(const std::string& name, std::vector<bool>& fits) const {
    const std::string key = as_key(name);
    std::vector<std::size_t> fitting;
    if (const auto same = names_.find(key); same != names_.end()) fitting = same->second;
    for (const std::size_t i : patterns_)
      if (fits_pattern(key, entries_[i].key)) fitting.push_back(i);
    for (const std::size_t i : fitting) fits[i] = true;
    if (fitting.empty()) return std::nullopt;
    return *std::ranges::min_element(fitting);
  }

  void refuse_left(const std::vector<std::string>& left) const {
    if (left.empty()) return;
    throw input_error(place_,
                      fmt::format("no pattern fits table {}{}", excerpt(left.front()),
                                  left.size() > 1 ? fmt::format(" and {} more", left.size() - 1) : ""),
                      "Add a pattern for it, or \"*\" as the last one for all that are left");
  }

  [[noreturn]] static void refuse_idle(const Entry& entry, bool fits) {
    throw input_error(entry.place,
                      fmt::format("no table is left for the pattern {}{}", excerpt(entry.pattern),
                                  fits ? ": patterns before it fit all its tables" : ": no table has such a name"),
                      fits ? "Put it in front of those, or leave it out" : "Correct the pattern, or leave it out");
  }

  Place place_;
  std::vector<Entry> entries_;                                       // in file order
  std::unordered_map<std::string, std::vector<std::size_t>> names_;  // the entries that are names of tables, by key
  std::vector<std::size_t> patterns_;                                // the others, which every name is compared with
};

}  // namespace

std::unique_ptr<Planner> make_per_table(MapReader& options) {
  return std::make_unique<PerTable>(options);
}

}  // namespace shardsim
