#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/document/document.h"
#include "base/judgement/pair.h"

namespace shardsim {

// Errors as every comparison shows them: columns of a table, members of JSON, cells of a CSV, a chart, a document.

enum class ErrorFigure { median, mean, p90, p95, worst, bias };
using FigureList = std::span<const ErrorFigure>;

// A table with `left` columns of words, the number of rows, and the figures; and the cells of such a row behind the
// words.
Sheet figures_sheet(const std::vector<std::string>& left, FigureList shown);
Sheet::Row figures_row(std::vector<std::string> left, const ErrorFigures& errors, FigureList shown, bool quiet = false);
// A row for each of the bands from `from` up to `upto` that have pairs; the name stands in the first of them only.
void add_bands(Sheet& sheet, std::string name, const BandFigures& figures, FigureList shown, bool quiet,
               std::size_t from, std::size_t upto);
// The sentences below such a table.
std::string figures_legend(FigureList shown);

// Three decimals of a percent: below that there is only noise. Nothing is null.
nlohmann::ordered_json percent_json(const std::optional<double>& value);
// {"rows": 3, "median_abs_error_pct": 1.2, ...}
nlohmann::ordered_json figures_json(const ErrorFigures& errors, FigureList shown);
// A list of maps, one per size band in the order of kSizeBands: its name, bounds, rows, median, mean, p95 and bias.
nlohmann::ordered_json bands_json(const BandFigures& figures);

// "observed,predicted,error %" as cells of a CSV.
std::string csv_cells(const Pair& pair);

// Predicted against measured times, both in us on logarithmic axes (plots/predicted_vs_measured.vg.json).
Chart pairs_chart(const std::string& id, const std::string& title, const std::string& caption,
                  const std::vector<Pair>& pairs);
// Such charts side by side, below two sentences that say what they show;
// `one_per` and `hollow` end the sentences "One chart per" and "Hollow points".
Section charts_section(const std::string& one_per, const std::string& hollow, std::vector<Chart> charts);

// Everything that a comparison of measured times says to people. Sections may be empty.
struct JudgementPage {
  std::string title, origin;  // of a page
  std::string summary, legend;
  Section parts;              // figures of each part: of a system, a GPU, a set; their heading is a page's
  Section overall;            // figures over all parts
  Section charts, every_row;  // of a page alone
  Section out_of_model;       // reasons why rows are not judged
};
// A terminal has the summary at the end, where one looks first; a page at its top.
Document document_of(JudgementPage page, Medium medium);

}  // namespace shardsim
