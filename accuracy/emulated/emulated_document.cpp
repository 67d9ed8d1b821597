#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "accuracy/emulated/campaign_round.h"
#include "accuracy/emulated/emulated_scenario.h"
#include "base/document/document.h"
#include "base/files.h"
#include "base/text.h"
#include "study/report/documents/comparison_document.h"

namespace shardsim {
namespace {

using Json = nlohmann::ordered_json;

std::string percent_of(double share) {
  return fmt::format("{:+.1f}", 100 * share);
}

double mbits(Bandwidth rate) {
  return 8 * rate.bytes_per_second / 1e6;
}

std::string band_text(JudgedAs judged) {
  const Band& band = band_of(judged);
  return std::isfinite(band.low) ? fmt::format("{:+.0f} to {:+.0f}", 100 * band.low, 100 * band.high) : "";
}

std::string verdict(const CampaignRow& row) {
  if (row.judged == JudgedAs::reported) return "";
  return row.holds() ? "ok" : "OUTSIDE";
}

void add_rows(Sheet& sheet, const std::string& heading, const std::vector<CampaignRow>& rows) {
  if (rows.empty()) return;
  sheet.rows.push_back({{heading}});
  for (const CampaignRow& row : rows) {
    sheet.rows.push_back({{row.item, std::string(band_of(row.judged).name), fmt::format("{:.3f}", row.predicted_ms),
                           fmt::format("{:.3f}", row.least_ms()), fmt::format("{}", row.observed_ms.size()),
                           percent_of(row.error()), band_text(row.judged), verdict(row)},
                          row.judged == JudgedAs::reported});
  }
}

Sheet rates_sheet(const std::vector<TierRate>& rates) {
  Sheet sheet;
  sheet.columns = {{"tier", false}, {"observed MB/s"}, {"expected MB/s"}, {"error %"}};
  for (const TierRate& rate : rates) {
    sheet.rows.push_back({{rate.tier, fmt::format("{:.4f}", rate.observed.bytes_per_second / 1e6),
                           fmt::format("{:.4f}", rate.expected.bytes_per_second / 1e6),
                           percent_of(rate.observed.bytes_per_second / rate.expected.bytes_per_second - 1)}});
  }
  return sheet;
}

double rounded(double value) {
  return std::round(value * 1e6) / 1e6;
}

Json row_json(const CampaignRow& row) {
  const Band& band = band_of(row.judged);
  const bool judged = std::isfinite(band.low);
  Json repeats = Json::array();
  for (const double ms : row.observed_ms) repeats.push_back(rounded(ms));
  return {{"item", row.item},
          {"judged_as", band.name},
          {"predicted_ms", rounded(row.predicted_ms)},
          {"observed_min_ms", rounded(row.least_ms())},
          {"observed_ms", repeats},
          {"error_pct", rounded(100 * row.error())},
          {"band_low_pct", judged ? Json(100 * band.low) : Json(nullptr)},
          {"band_high_pct", judged ? Json(100 * band.high) : Json(nullptr)},
          {"within_band", judged ? Json(row.holds()) : Json(nullptr)}};
}

Json rows_json(const std::vector<CampaignRow>& rows) {
  Json list = Json::array();
  for (const CampaignRow& row : rows) list.push_back(row_json(row));
  return list;
}

Json rates_json(const std::vector<TierRate>& rates) {
  Json list = Json::array();
  for (const TierRate& rate : rates) {
    list.push_back({{"tier", rate.tier},
                    {"expected_bytes_per_s", rounded(rate.expected.bytes_per_second)},
                    {"observed_bytes_per_s", rounded(rate.observed.bytes_per_second)}});
  }
  return list;
}

}  // namespace

std::string rate_share_text(double share, const EmulatedShape& shape) {
  if (share >= 1) return "";
  return fmt::format(
      "Links are limited to 1/{:.0f} of the rates that were asked for, {:.0f} Mbit/s inside a node and {:.0f} Mbit/s "
      "between nodes, in the prediction, too: this machine does not carry the full rates between two ranks.",
      1 / share, mbits(shape.fast), mbits(shape.nic));
}

Document report_document(const CampaignReport& report) {
  const EmulatedShape& shape = report.shape;
  Sheet items;
  items.columns = {{"item", false}, {"judged as", false}, {"predicted ms"}, {"observed ms"},
                   {"runs"},        {"error %"},          {"band %"},       {"verdict", false}};
  add_rows(items, "all ports at their rate", report.plain);
  add_rows(items, fmt::format("the NIC of rank {} at half rate", report.straggler), report.slowed);
  Document document;
  document.blocks = {
      Paragraph{
          fmt::format("{} ranks on {} nodes; links limited to {:.0f} Mbit/s inside a node, {:.0f} Mbit/s between nodes",
                      shape.ranks.world_size(), shape.ranks.nodes, mbits(shape.fast), mbits(shape.nic))},
      rates_sheet(report.rates), Section{"", {std::move(items)}},
      Section{"",
              {Paragraph{fmt::format(
                   "Observed: the shortest of the runs. Error: predicted / observed - 1. Set up in {:.2f} s, {:.1f} s "
                   "in total; processors busy {:.0f} %, stolen {:.0f} %, carrying packets {:.0f} %.",
                   report.setup_s, report.wall_s, 100 * report.cpu.busy, 100 * report.cpu.stolen,
                   100 * report.cpu.softirq)},
               Paragraph{kWhatItProves}}}};
  if (report.rate_share < 1)
    document.blocks.insert(document.blocks.begin() + 1, Paragraph{rate_share_text(report.rate_share, shape)});
  return document;
}

std::string report_json(const CampaignReport& report) {
  const Json document = {{"schema", "shardsim.emulated/1"},
                         {"shardsim", version()},
                         {"nodes", report.shape.ranks.nodes},
                         {"ranks_per_node", report.shape.ranks.ranks_per_node},
                         {"fast_bytes_per_s", report.shape.fast.bytes_per_second},
                         {"nic_bytes_per_s", report.shape.nic.bytes_per_second},
                         {"rate_share", report.rate_share},
                         {"within_bands", report.holds()},
                         {"rates", rates_json(report.rates)},
                         {"items", rows_json(report.plain)},
                         {"straggler_rank", report.straggler},
                         {"items_with_straggler", rows_json(report.slowed)},
                         {"setup_s", rounded(report.setup_s)},
                         {"wall_s", rounded(report.wall_s)},
                         {"cpu_busy_share", rounded(report.cpu.busy)},
                         {"cpu_stolen_share", rounded(report.cpu.stolen)},
                         {"cpu_softirq_share", rounded(report.cpu.softirq)},
                         {"what_it_proves", kWhatItProves}};
  return document.dump(2) + "\n";
}

namespace {

std::string beside_text(const CaseMiss& miss) {
  std::string text =
      fmt::format("{}, iteration: {:.1f} ms predicted, {:.1f} ms median observed, {:+.1f} %", miss.case_name,
                  miss.iteration.predicted_ms, miss.iteration.observed_ms.median, miss.iteration_pct.value_or(0));
  if (miss.worst_bytes) text += "; bytes: " + bytes_text(*miss.worst_bytes);
  return text;
}

std::string spread_text(const IterationSpread& spread) {
  return fmt::format("{:.1f} / {:.1f} / {:.1f} ms", spread.p5, spread.median, spread.p95);
}

Section drawn_section(const ScenarioRound& round) {
  Section section{"", {Paragraph{"Drawn batches, 5th percentile / median / 95th percentile of the iterations:"}}};
  for (std::size_t i = 0; i < round.drawn.size(); ++i) {
    if (!round.drawn[i]) continue;
    const DrawnTimes& times = *round.drawn[i];
    const std::string text =
        fmt::format("{}: {} predicted, {} observed, {} iterations", round.report.cases[i].comparison.case_name,
                    spread_text(times.predicted), spread_text(times.observed), times.iterations);
    section.blocks.emplace_back(Paragraph{text, Paragraph::Role::plain, 2});
  }
  return section;
}

Section beside_section(const ScenarioRound& round) {
  Section section{"",
                  {Paragraph{"With " + join(round.beside_settings) + ", beside the same observation and not judged:"}}};
  for (const CaseMiss& miss : round.beside)
    section.blocks.emplace_back(Paragraph{beside_text(miss), Paragraph::Role::plain, 2});
  return section;
}

Json percent_or_null(const std::optional<double>& percent) {
  return percent && std::isfinite(*percent) ? Json(rounded(*percent)) : Json(nullptr);
}

Json miss_json(const CaseMiss& miss) {
  std::optional<double> bytes_pct;
  if (miss.worst_bytes) bytes_pct = miss.worst_bytes->bytes.error_pct();
  return {{"case", miss.case_name},
          {"predicted_ms", rounded(miss.iteration.predicted_ms)},
          {"observed_median_ms", rounded(miss.iteration.observed_ms.median)},
          {"iteration_error_pct", percent_or_null(miss.iteration_pct)},
          {"bytes_error_pct", percent_or_null(bytes_pct)}};
}

Json drawn_json(const std::optional<DrawnTimes>& times) {
  if (!times) return nullptr;
  const auto spread = [](const IterationSpread& of) {
    return Json{{"mean_ms", rounded(of.mean)},
                {"median_ms", rounded(of.median)},
                {"p5_ms", rounded(of.p5)},
                {"p95_ms", rounded(of.p95)}};
  };
  return {{"iterations", times->iterations},
          {"predicted", spread(times->predicted)},
          {"observed", spread(times->observed)}};
}

Json misses_json(const std::vector<CaseMiss>& misses) {
  Json list = Json::array();
  for (const CaseMiss& miss : misses) list.push_back(miss_json(miss));
  return list;
}

// With what is known of the spread of drawn batches.
Json cases_json(const ScenarioRound& round) {
  Json list = misses_json(round.cases());
  for (std::size_t i = 0; i < list.size() && i < round.drawn.size(); ++i) list[i]["drawn"] = drawn_json(round.drawn[i]);
  return list;
}

}  // namespace

Document round_document(const ScenarioRound& round) {
  Document document = comparison_document(round.report, Medium::terminal);
  if (round.rate_share < 1) document.add({"", {Paragraph{rate_share_text(round.rate_share, round.shape)}}});
  document.add(
      {"",
       {Paragraph{"Predicted order, the fastest first: " + join(round.predicted_order) +
                      ". Observed: " + join(round.observed_order) + ".",
                  Paragraph::Role::summary},
        Paragraph{fmt::format(
            "Judged: the iteration must be within {} % of the observed median; the bytes that each rank sends "
            "and receives in an iteration within {} % of the mean that the ranks counted; a collective that "
            "takes {:.0f} ms or more alone and shares its tier with no other within {} % of the shortest observed "
            "time, because noise only makes times longer.",
            kIterationTolerancePct, kBytesTolerancePct, kJudgedCollectiveMs / round.rate_share,
            kCollectiveTolerancePct)}}});
  Section judged{"", {}};
  for (const std::string& line : round.judged) judged.blocks.emplace_back(Paragraph{line, Paragraph::Role::plain, 2});
  for (const std::string& miss : round.outside)
    judged.blocks.emplace_back(Paragraph{"OUTSIDE: " + miss, Paragraph::Role::notice});
  document.add(std::move(judged));
  if (std::ranges::any_of(round.drawn, [](const auto& times) { return times.has_value(); }))
    document.add(drawn_section(round));
  if (!round.beside.empty()) document.add(beside_section(round));
  document.add({"", {Paragraph{kWhatItProves}}});
  return document;
}

std::string round_json(const ScenarioRound& round) {
  auto document = nlohmann::ordered_json::parse(comparison_json(round.report));
  document["emulated"] = {{"within_tolerance", round.holds()},
                          {"rate_share", round.rate_share},
                          {"judged", round.judged},
                          {"outside", round.outside},
                          {"predicted_order", round.predicted_order},
                          {"observed_order", round.observed_order},
                          {"cases", cases_json(round)},
                          {"beside", {{"settings", round.beside_settings}, {"cases", misses_json(round.beside)}}},
                          {"iteration_tolerance_pct", kIterationTolerancePct},
                          {"bytes_tolerance_pct", kBytesTolerancePct},
                          {"collective_tolerance_pct", kCollectiveTolerancePct},
                          {"judged_from_ms", kJudgedCollectiveMs / round.rate_share},
                          {"what_it_proves", kWhatItProves}};
  return document.dump(2) + "\n";
}

}  // namespace shardsim
