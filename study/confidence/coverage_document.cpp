#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/document/cells.h"
#include "base/text.h"
#include "study/confidence/coverage.h"

namespace shardsim {
namespace {

std::string share_cell(double share) {
  return fixed(100 * share, 1);
}

Sheet coverage_sheet(const Coverage& coverage) {
  Sheet sheet;
  sheet.columns = {{"predictions of", false, true}, {"rows"}, {"systems"}, {"held %"}, {"by system %"}, {"high / low"}};
  for (const CoverageFigures& each : coverage.figures)
    sheet.rows.push_back({{each.kind, std::to_string(each.rows), std::to_string(each.systems), share_cell(each.held),
                           share_cell(each.held_by_system), fixed(each.width, 2)},
                          each.kind.find('/') != std::string::npos});
  return sheet;
}

Sheet bins_sheet(const Coverage& coverage) {
  Sheet sheet;
  sheet.columns = {{"stated chance"}, {"pairs"}, {"mean stated %"}, {"right %"}};
  for (const ChanceBin& bin : coverage.bins)
    sheet.rows.push_back(
        {{fmt::format("{:.0f} to {:.0f} %", 100 * bin.from, 100 * bin.upto), std::to_string(bin.pairs),
          share_cell(bin.stated), bin.pairs == 0 ? "-" : share_cell(static_cast<double>(bin.hits) / bin.pairs)},
         false});
  return sheet;
}

Sheet misses_sheet(const Coverage& coverage) {
  Sheet sheet;
  sheet.columns = {{"first", false, true}, {"second", false}, {"observed"}, {"predicted"}, {"stated %"}};
  for (const RankedPair& pair : coverage.pairs) {
    if (pair.hit()) continue;
    sheet.rows.push_back({{pair.first, pair.second, fixed(std::exp(pair.observed), 3),
                           fixed(std::exp(pair.predicted), 3), share_cell(pair.chance)},
                          false});
  }
  return sheet;
}

Sheet scales_sheet(const ErrorModel& model) {
  Sheet sheet;
  sheet.columns = {{"class", false, true}, {"systems"}, {"mean size of errors %"}, {"used %"}, {"four in five within"}};
  const auto add = [&](const std::string& name, const std::string& error_class, const ClassErrors& errors) {
    const auto known = errors.sizes().find(error_class);
    if (known == errors.sizes().end()) return;
    double sum = 0;
    for (const auto& [system, size] : known->second) sum += size;
    const double scale = errors.scale(error_class);
    sheet.rows.push_back(
        {{name, std::to_string(known->second.size()), fixed(100 * sum / static_cast<double>(known->second.size()), 1),
          fixed(100 * scale, 1), fmt::format("{}x", fixed(std::exp(coverage_quantile() * scale), 2))},
         false});
  };
  for (const auto& [error_class, systems] : model.classes().sizes())
    if (std::ranges::count(error_class, '/') <= 2 && !error_class.starts_with("iteration"))
      add(error_class, error_class, model.classes());
  for (const auto& [error_class, systems] : model.rests().sizes())
    add(error_class + ", beside its parts", error_class, model.rests());
  return sheet;
}

std::string pairs_text(const Coverage& coverage) {
  const auto hits = std::ranges::count_if(coverage.pairs, &RankedPair::hit);
  return fmt::format(
      "Of {} pairs the faster one is named in {} ({:.1f} %).", coverage.pairs.size(), hits,
      100.0 * static_cast<double>(hits) / static_cast<double>(std::max<std::size_t>(1, coverage.pairs.size())));
}

// "87.7 % of 130 published iterations (24 systems)".
std::string held_text(const CoverageFigures& of, std::string_view what) {
  return fmt::format("{} % of {} {} ({} systems)", share_cell(of.held), of.rows, what, of.systems);
}

// The least sure are those of which there are enough rows to say so.
std::string answer_text(const Coverage& coverage) {
  constexpr int kFewRows = 10;
  std::vector<std::string> parts;
  const CoverageFigures* least = nullptr;
  for (const CoverageFigures& each : coverage.figures) {
    if (each.kind == "iteration") parts.push_back(held_text(each, "published iterations"));
    if (each.kind == "collective") parts.push_back(held_text(each, "collectives"));
    if (each.kind == "kernel") parts.push_back(held_text(each, "kernels"));
    if (each.rows >= kFewRows && (least == nullptr || each.held < least->held)) least = &each;
  }
  if (parts.empty()) return "";
  std::string text = fmt::format("The interval that is stated for 80 % held {}. ", join(parts));
  if (least != nullptr) text += fmt::format("Least often for {}: {} %. ", least->kind, share_cell(least->held));
  return text + pairs_text(coverage);
}

}  // namespace

Document coverage_document(const Coverage& coverage, const ErrorModel& model) {
  Document document;
  if (std::string answer = answer_text(coverage); !answer.empty())
    document.blocks.emplace_back(Paragraph{std::move(answer), Paragraph::Role::summary});
  document.add(
      table_section("How often intervals hold",
                    "80 % intervals of published times to which nothing was fitted, each computed from the errors of "
                    "other systems. by system: every system has the same weight. high / low: median.",
                    coverage_sheet(coverage)));
  document.add(table_section("How often stated chances come true",
                             pairs_text(coverage) +
                                 " Pairs are runs of the same model and software that differ in plan, cluster or "
                                 "number of GPUs and by more than 5 % in the observed time.",
                             bins_sheet(coverage)));
  document.add(table_section("Pairs that are named wrongly", "Times of the second over those of the first.",
                             misses_sheet(coverage)));
  document.add(table_section("Errors by class",
                             "Scales of ln(observed / predicted). Each system has the same weight, and a class with "
                             "few systems is drawn towards the class above it.",
                             scales_sheet(model)));
  return document;
}

}  // namespace shardsim
