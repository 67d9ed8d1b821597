#include "base/judgement/figures.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/document/cells.h"
#include "base/text.h"

namespace shardsim {
namespace {

using Json = nlohmann::ordered_json;

// A figure's name in a table, in JSON and in the legend; figures with a sign have a sentence of their own there.
struct FigureWords {
  const char *header, *key, *phrase;
  std::optional<double> ErrorFigures::*value;
};
constexpr std::array<FigureWords, 6> kFigureWords = {
    FigureWords{"median %", "median_abs_error_pct", "median", &ErrorFigures::median_abs_pct},
    FigureWords{"mean %", "mean_abs_error_pct", "mean", &ErrorFigures::mean_abs_pct},
    FigureWords{"p90 %", "p90_abs_error_pct", "90th percentile", &ErrorFigures::p90_abs_pct},
    FigureWords{"p95 %", "p95_abs_error_pct", "95th percentile", &ErrorFigures::p95_abs_pct},
    FigureWords{"worst %", "worst_abs_error_pct", "maximum", &ErrorFigures::worst_abs_pct},
    FigureWords{"signed %", "signed_error_pct", nullptr, &ErrorFigures::signed_pct}};

constexpr std::array kOfBands = {ErrorFigure::median, ErrorFigure::mean, ErrorFigure::p95, ErrorFigure::bias};

const FigureWords& words_of(ErrorFigure figure) {
  return kFigureWords.at(static_cast<std::size_t>(figure));
}

std::string side_of(const Pair& pair) {
  if (!pair.out_of_model.empty()) return "out of the model";
  return pair.role == Pair::Role::fitted ? "fitted" : "in the model";
}

}  // namespace

Sheet figures_sheet(const std::vector<std::string>& left, FigureList shown) {
  Sheet sheet;
  for (const std::string& header : left) sheet.columns.push_back({header, false});
  sheet.columns.push_back({"rows"});
  for (const ErrorFigure figure : shown) sheet.columns.push_back({words_of(figure).header});
  return sheet;
}

Sheet::Row figures_row(std::vector<std::string> left, const ErrorFigures& errors, FigureList shown, bool quiet) {
  left.push_back(std::to_string(errors.rows));
  for (const ErrorFigure figure : shown) {
    const std::optional<double>& value = errors.*words_of(figure).value;
    left.push_back(figure == ErrorFigure::bias ? signed_percent(value) : percent(value));
  }
  return {std::move(left), quiet};
}

void add_bands(Sheet& sheet, std::string name, const BandFigures& figures, FigureList shown, bool quiet,
               std::size_t from, std::size_t upto) {
  for (std::size_t i = from; i < upto; ++i) {
    if (figures.bands[i].rows == 0) continue;
    sheet.rows.push_back(figures_row({name, std::string(kSizeBands[i].name)}, figures.bands[i], shown, quiet));
    name.clear();
  }
}

std::string figures_legend(FigureList shown) {
  std::vector<std::string> phrases;
  for (const ErrorFigure figure : shown)
    if (figure != ErrorFigure::bias) phrases.emplace_back(words_of(figure).phrase);
  const std::string last = phrases.back();
  phrases.pop_back();
  return fmt::format(
      "Errors of predicted compared with measured times: {} and {} of their size. signed: the mean with its sign, "
      "positive if the predicted time is too long.",
      join(phrases), last);
}

Json percent_json(const std::optional<double>& value) {
  if (!value) return nullptr;
  if (!std::isfinite(*value)) throw std::logic_error("a figure is not finite");
  return std::round(*value * 1e3) / 1e3;
}

Json figures_json(const ErrorFigures& errors, FigureList shown) {
  Json json = {{"rows", errors.rows}};
  for (const ErrorFigure figure : shown) json[words_of(figure).key] = percent_json(errors.*words_of(figure).value);
  return json;
}

Json bands_json(const BandFigures& figures) {
  Json bands = Json::array();
  for (std::size_t i = 0; i < kSizeBands.size(); ++i) {
    const SizeBand& band = kSizeBands[i];
    bands.push_back({{"sizes", band.name},
                     {"from_bytes", band.from},
                     {"below_bytes", band.upto == kLargestSize ? Json(nullptr) : Json(band.upto)}});
    bands.back().update(figures_json(figures.bands[i], kOfBands));
  }
  return bands;
}

std::string csv_cells(const Pair& pair) {
  return fmt::format("{:.6g},{:.6g},{:.2f}", pair.observed, pair.predicted, pair.error_pct());
}

Chart pairs_chart(const std::string& id, const std::string& title, const std::string& caption,
                  const std::vector<Pair>& pairs) {
  DataSet points{
      "points",
      {"collective", "setting", "size_bytes", "measured_us", "predicted_us", "error_pct", "algorithm", "side"},
      {}};
  for (const Pair& pair : pairs)
    points.rows.push_back(
        {pair.kind, pair.what, pair.size, pair.observed, pair.predicted, pair.error_pct(), pair.how, side_of(pair)});
  return {id, "predicted_vs_measured", title, caption, false, {std::move(points)}};
}

Section charts_section(const std::string& one_per, const std::string& hollow, std::vector<Chart> charts) {
  Section section{
      "Predicted against measured",
      {Paragraph{fmt::format("One chart per {}, with logarithmic axes. On the dashed line the prediction is exact; the "
                             "band is 10 % in both directions. Hollow points {}.",
                             one_per, hollow),
                 Paragraph::Role::caption}}};
  section.side_by_side = true;
  for (Chart& chart : charts) section.blocks.emplace_back(std::move(chart));
  return section;
}

Document document_of(JudgementPage page, Medium medium) {
  const Paragraph summary{std::move(page.summary), Paragraph::Role::summary};
  const Paragraph legend{std::move(page.legend), Paragraph::Role::caption};
  page.parts.style = Section::Heading::page_only;
  page.overall.style = Section::Heading::as_it_is;
  Document document;
  if (medium == Medium::terminal) {
    document.blocks = {summary};
    document.add(std::move(page.parts));
    document.add(std::move(page.overall));
    document.blocks.emplace_back(Section{"", {legend}});
    document.add(std::move(page.out_of_model));
    return document;
  }
  document.title = std::move(page.title);
  document.origin = std::move(page.origin);
  document.blocks = {summary};
  document.add(std::move(page.overall));
  document.blocks.emplace_back(legend);
  for (Section* const section : {&page.charts, &page.parts, &page.every_row, &page.out_of_model})
    document.add(std::move(*section));
  return document;
}

}  // namespace shardsim
