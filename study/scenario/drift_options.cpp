#include "study/scenario/drift_options.h"

#include <fmt/format.h>

#include <cmath>

#include "base/text.h"
#include "base/tree/leaf.h"
#include "base/tree/map_reader.h"
#include "plan/autoshard/cost_error.h"
#include "plan/planner.h"

namespace shardsim {
namespace {

constexpr std::int64_t kMostDays = 3650;
constexpr double kMostExponent = 10;  // a day; the steepest laws known have an exponent of 2 in all

// "2 %/day", "2%" or 0.02: a share per day.
double daily_share(MapReader& reader, const char* key, double most) {
  const Tree* const stated = reader.value(key);
  if (stated == nullptr) return 0;
  note_form(*stated, {Form::Kind::share, {"/day"}, Bounds::from(0).to(most)});
  std::string text = scalar_text(*stated, "a share per day, such as \"2 %/day\"");
  if (text.ends_with("/day")) text.resize(text.size() - 4);
  const bool percent = text.ends_with('%');
  if (percent) text.pop_back();
  while (text.ends_with(' ')) text.pop_back();
  const double share = parse_real(text, stated->place) / (percent ? 100 : 1);
  if (share >= 0 && share <= most) return share;
  throw input_error(stated->place, fmt::format("{} is {}", key, excerpt(stated->scalar)),
                    fmt::format("Write a share per day, such as \"2 %/day\" or 0.02, up to {:g} %", 100 * most));
}

double daily_exponent(MapReader& reader) {
  return reader.get<double>(
      "exponent", real_leaf(Bounds::from(-kMostExponent).to(kMostExponent), "it is added to the exponent every day"),
      0.0);
}

DriftMonitor read_monitor(MapReader map) {
  DriftMonitor monitor;
  monitor.place = map.place_of("policy");
  const StatedPolicy stated = stated_policy(map);
  monitor.threshold = map.get<double>("threshold", share_leaf());
  map.finish();
  monitor.policy = read_policy(stated.file, stated.provider);
  if (!predicts_costs(monitor.policy))
    throw input_error(monitor.place, "the policy was trained without a cost model, so it has none to watch",
                      "Train one with it: shardsim autoshard train SCENARIO -o policy.h5");
  return monitor;
}

}  // namespace

DriftOptions read_drift(const Tree& map) {
  note_part(map, "drift");
  note_form(map, stated_map());
  if (map.kind != Tree::Kind::map) {
    throw input_error(map.place, fmt::format("'drift' must be a map, but is {}", kind_name(map.kind)),
                      "Write 'drift: {days: 14, rotation: 2 %/day}'");
  }
  MapReader reader(map, "drift");
  DriftOptions options;
  options.place = map.place;
  options.days = static_cast<int>(reader.count("days", Bounds::from(1).to(kMostDays)));
  options.rotation = daily_share(reader, "rotation", 1);
  options.growth = daily_share(reader, "growth", 1);
  options.growth_place = reader.place_of("growth");
  options.batch = daily_share(reader, "batch", 1);
  options.batch_place = reader.place_of("batch");
  options.exponent = daily_exponent(reader);
  options.tables = reader.text("tables", "*");
  if (reader.has("planners")) {
    for (const Tree& item : reader.list("planners")) {
      options.planners.push_back(named_map(item, planner_names()));
      make_planner(options.planners.back());
    }
  }
  if (reader.has("iterations_per_day")) options.iterations_per_day = reader.count("iterations_per_day");
  if (reader.has("monitor")) options.monitor = read_monitor(reader.map("monitor"));
  options.pause = reader.get("pause", long_time_leaf(), std::optional(Seconds{}));
  reader.finish();
  if (options.rotation == 0 && options.growth == 0 && options.batch == 0 && options.exponent == 0) {
    throw input_error(map.place, "'drift' states no change", "Write rotation, exponent, growth or batch");
  }
  return options;
}

}  // namespace shardsim
