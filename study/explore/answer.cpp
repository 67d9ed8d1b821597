#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/document/cells.h"
#include "base/text.h"
#include "study/confidence/faster.h"
#include "study/explore/explorer.h"
#include "study/report/charts/chart_data.h"
#include "study/report/sheets/result_sheets.h"
#include "study/report/wording.h"
#include "study/result/case_figures.h"
#include "study/result/hardware.h"

namespace shardsim {
namespace {

using Json = nlohmann::ordered_json;

Json figures_json(const Explored& explored) {
  const CaseResult& item = explored.result();
  const MemoryNeed need = memory_need(item);
  Json figures{{"case", item.name},
               {"workload", item.workload},
               {"cluster", item.cluster},
               {"planner", item.planner},
               {"gpus", item.world_size},
               {"batch_per_gpu", item.batch_per_gpu},
               {"iteration_ms", item.iteration_ms},
               {"samples_per_s", item.samples_per_s},
               {"memory_bytes", need.judged()},
               {"capacity_bytes", item.memory_capacity},
               {"fits", fits(need, item.memory_capacity)}};
  if (item.interval) figures["range_ms"] = {item.interval->low_ms, item.interval->high_ms};
  if (!item.limit.what.empty()) figures["limit"] = {{"what", item.limit.what}, {"share_pct", 100 * item.limit.share}};
  if (const auto& cost = explored.item().cluster.cost_per_gpu_hour) {
    constexpr double kSecondsPerHour = 3600, kMillion = 1e6;
    figures["cost_per_million_samples"] = *cost * item.world_size / kSecondsPerHour / item.samples_per_s * kMillion;
    figures["currency"] = explored.item().cluster.currency;
  }
  return figures;
}

// The figures as the page shows them: numbers are spelt by the same functions as in the report.
Json words_json(const CaseResult& item) {
  const double free = static_cast<double>(item.memory_capacity - memory_need(item).judged());
  return {{"time", fixed(item.iteration_ms, decimals_for(item.iteration_ms))},
          {"range", item.interval ? interval_cell(*item.interval) : ""},
          {"doubt", item.interval ? doubt_sentence({&*item.interval}, "") : ""},
          {"samples", grouped(item.samples_per_s)},
          {"memory", fixed(static_cast<double>(memory_need(item).judged()) / kGiB, 2)},
          {"capacity", fixed(static_cast<double>(item.memory_capacity) / kGiB, 2)},
          {"margin", free < 0 ? fmt::format("{} GiB over", fixed(-free / kGiB, 2))
                              : fmt::format("{} GiB free", fixed(free / kGiB, 2))},
          {"limit", item.limit.what.empty()
                        ? ""
                        : fmt::format("{}, busy {:.0f} %", unit_in_words(item.limit.what), 100 * item.limit.share)}};
}

Json parts_json(const StudyResult& study) {
  Json parts = Json::array();
  for (const auto& row : breakdown_parts(study).rows)
    parts.push_back({{"name", std::get<std::string>(row[1])},
                     {"class", std::get<std::string>(row[2])},
                     {"ms", std::get<double>(row[4])}});
  return parts;
}

Json warnings_json(const StudyResult& study) {
  Json warnings = Json::array();
  for (const std::string& text : {memory_warning(study), short_torchrec_warning(study)})
    if (!text.empty()) warnings.push_back(text);
  return warnings;
}

Json outcome_json(const Explored& explored) {
  const CaseResult& item = explored.result();
  Json outcome{{"figures", figures_json(explored)},         {"words", words_json(item)},
               {"parts", parts_json(explored.study)},       {"why", item.why ? item.why->sentence : ""},
               {"warnings", warnings_json(explored.study)}, {"notes", item.notes}};
  return outcome;
}

Json knobs_json(const std::vector<Knob>& knobs) {
  Json list = Json::array();
  for (const Knob& knob : knobs) {
    Json json{{"id", knob.id},       {"label", knob.label}, {"unit", knob.unit}, {"path", knob.path},
              {"value", knob.value}, {"stops", knob.stops}, {"help", knob.help}};
    Json options = Json::array();
    for (const Knob::Option& option : knob.options)
      options.push_back({{"value", option.value}, {"label", option.label}});
    json["options"] = std::move(options);
    list.push_back(std::move(json));
  }
  return list;
}

// The two as cases of one scenario, which have to have other names there.
struct Pair {
  Scenario scenario;
  CaseResult now, pinned;
};

Pair pair_of(const Explored& now, const Explored& pinned) {
  Pair pair{{}, now.result(), pinned.result()};
  pair.now.name = "now";
  pair.pinned.name = "pinned";
  pair.scenario.cases = {now.item(), pinned.item()};
  pair.scenario.cases[0].name = "now";
  pair.scenario.cases[1].name = "pinned";
  return pair;
}

// How sure it is which of the two trains more samples per second; `chance` is null where none is stated.
Json order_json(const Explored& now, const Explored& pinned) {
  const CaseResult &one = now.result(), &other = pinned.result();
  const double times = one.samples_per_s / other.samples_per_s;
  Json order{{"times", times}, {"chance", nullptr}, {"text", ""}};
  if (!one.interval || !other.interval) return order;
  const Difference difference = difference_of_samples(one.iteration_ms, *one.interval, one.samples(),
                                                      other.iteration_ms, *other.interval, other.samples());
  if (is_equal(difference)) {
    order["text"] = "Equal to the pinned case.";
    return order;
  }
  const bool faster = difference.log_ratio > 0;
  const bool unlike = faster != (times > 1);  // where its hot rows lie makes the one that is told first
  const Pair pair = pair_of(now, pinned);
  const std::string lead = fmt::format(
      "{:.2f} times the samples/s of the pinned case{}", times,
      unlike ? fmt::format(" ({:.2f} times on average over the placements of hot rows)", std::exp(difference.log_ratio))
             : "");
  if (is_faster_on_slower_hardware(faster ? pair.now : pair.pinned, faster ? pair.pinned : pair.now, pair.scenario)) {
    order["text"] = lead + "; no chance is stated, for the faster one has the slower hardware.";
    return order;
  }
  const double chance = difference.first_is_faster();
  order["chance"] = chance;
  order["text"] = fmt::format("{}; the chance that it is really {} is {} %.", lead, faster ? "faster" : "slower",
                              chance_cell(faster ? chance : 1 - chance));
  return order;
}

Json settings_json(const Settings& settings) {
  Json list = Json::array();
  for (const auto& [path, value] : settings) list.push_back({path, value});
  return list;
}

std::string json_text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json error_json(const Error& error, const std::vector<Knob>& knobs) {
  constexpr std::string_view kArgument = "argument --set ";
  Json json{{"error", error.what()}, {"exit_code", static_cast<int>(error.failure())}, {"knob", nullptr}};
  const std::string& source = error.place().source;
  if (!source.starts_with(kArgument)) return json;
  const std::string path = source.substr(kArgument.size());
  const auto about = std::ranges::find(knobs, path, &Knob::path);
  if (about != knobs.end()) json["knob"] = about->id;
  return json;
}

}  // namespace

std::string error_answer(const Error& error, const std::vector<Knob>& knobs) {
  return json_text(error_json(error, knobs));
}

std::string Explorer::answer(const ExploreRequest& request, const WorkerOptions& workers) {
  const Case base = base_of(request.now.case_name);  // a copy: files that were written since are read again below
  const ShippedHardware& machines = hardware_for(base);
  try {
    const auto now = explored(request.now, workers);
    Json json = outcome_json(*now);
    json["settings"] = settings_json(now->settings);
    json["command"] = command(*now);
    json["knobs"] = knobs_json(knobs_of(now->item(), base, machines));
    if (request.pinned) {
      const auto pinned = explored(*request.pinned, workers);
      json["pinned"] = outcome_json(*pinned);
      json["order"] = order_json(*now, *pinned);
    }
    return json_text(json);
  } catch (const Error& error) {
    Json json = error_json(error, knobs_of(base, base, machines));
    json["settings"] = settings_json(settings_of_knobs(request.now.knobs, base, machines));
    return json_text(json);
  }
}

}  // namespace shardsim
