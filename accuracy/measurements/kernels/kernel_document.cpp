#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "accuracy/measurements/kernels/kernel_judgement.h"
#include "base/document/cells.h"
#include "base/files.h"
#include "base/judgement/figures.h"
#include "base/text.h"

namespace shardsim {
namespace {

constexpr std::array kKernelFigures = {ErrorFigure::median, ErrorFigure::p95, ErrorFigure::worst, ErrorFigure::bias};

std::string kind_words(KernelKind kind) {
  std::string words(kernel_kind_name(kind));
  std::ranges::replace(words, '_', ' ');
  return words;
}

Sheet gpus_sheet(const KernelJudgement& judgement) {
  Sheet sheet = figures_sheet({"kernel", "operands"}, kKernelFigures);
  std::string before;
  for (const KernelFigures& figures : judgement.by_gpu) {
    if (figures.gpu != before) sheet.rows.push_back({{figures.gpu}});
    before = figures.gpu;
    add_bands(sheet, kind_words(figures.kind), figures.predicted, kKernelFigures, false, 0, kDisjointBands);
    add_bands(sheet, kind_words(figures.kind) + ", fitted on", figures.fitted, kKernelFigures, true, 0, kDisjointBands);
  }
  return sheet;
}

Sheet kinds_sheet(const KernelJudgement& judgement) {
  Sheet sheet = figures_sheet({"over all GPUs", "operands"}, kKernelFigures);
  const std::size_t all = kSizeBands.size() - 1;
  for (const KernelFigures& figures : judgement.by_kind) {
    add_bands(sheet, kind_words(figures.kind), figures.predicted, kKernelFigures, false, all, all + 1);
    add_bands(sheet, kind_words(figures.kind) + ", fitted on", figures.fitted, kKernelFigures, true, all, all + 1);
  }
  add_bands(sheet, "all kernels", judgement.predicted, kKernelFigures, false, all, all + 1);
  return sheet;
}

std::string role_of(const JudgedKernel& judged) {
  return std::string(judged.is_fitted ? "fitted" : "predicted") + (judged.assumed.empty() ? "" : ", GPU assumed");
}

Sheet every_row(const KernelJudgement& judgement) {
  Sheet sheet;
  sheet.columns = {{"row", false},  {"GPU", false},   {"kernel", false}, {"shape", false},
                   {"measured us"}, {"predicted us"}, {"error %"},       {"role", false}};
  for (const JudgedKernel& judged : judgement.rows) {
    if (!judged.out_of_model.empty()) continue;
    const KernelRow& row = judged.row;
    sheet.rows.push_back({{row.id, judged.gpu, kind_words(row.kind), row.shape(), fixed(row.sizes.time_us, 1),
                           fixed(judged.predicted_us, 1), signed_percent(judged.error_pct()), role_of(judged)},
                          judged.is_fitted});
  }
  return sheet;
}

Section out_section(const KernelJudgement& judgement) {
  NoteList notes;
  for (const auto& [reason, count] : judgement.out_of_model)
    notes.notes.push_back({reason, counted(static_cast<std::size_t>(count), "row")});
  Section section{"Rows without a prediction", {}};
  if (!notes.notes.empty()) section.blocks.emplace_back(std::move(notes));
  return section;
}

Section kernel_charts(const KernelJudgement& judgement) {
  std::vector<Chart> charts;
  std::string before;
  for (const KernelFigures& figures : judgement.by_gpu) {
    if (figures.gpu == before) continue;
    before = figures.gpu;
    std::vector<Pair> points;
    for (const JudgedKernel& judged : judgement.rows)
      if (judged.out_of_model.empty() && judged.gpu == figures.gpu) points.push_back(judged.pair());
    charts.push_back(pairs_chart(fmt::format("gpu_{}", charts.size() + 1), figures.gpu,
                                 counted(points.size(), "row") + ".", points));
  }
  return charts_section("GPU", "were used to fit a constant", std::move(charts));
}

}  // namespace

std::string kernel_summary(const KernelJudgement& judgement) {
  std::string text =
      fmt::format("{} predicted by {}", counted(static_cast<std::size_t>(judgement.predicted.rows), "measured kernel"),
                  judgement.model);
  const ErrorFigures& all = judgement.predicted.all();
  if (judgement.predicted.rows > 0)
    text += fmt::format(": the median error is {} % and the largest {} %, with the same weight for every row",
                        percent(all.median_abs_pct), percent(all.worst_abs_pct));
  text += ".";
  if (judgement.fitted.rows > 0)
    text += fmt::format(" Constants were fitted on {} more.",
                        counted(static_cast<std::size_t>(judgement.fitted.rows), "row"));
  int out = 0;
  for (const auto& [reason, count] : judgement.out_of_model) out += count;
  if (out > 0)
    text += fmt::format(" No prediction is claimed for {}, for reasons known before predicting.",
                        counted(static_cast<std::size_t>(out), "row"));
  return text;
}

Document kernel_document(const KernelJudgement& judgement, Medium medium) {
  JudgementPage page;
  page.title = "Kernels: predicted against measured";
  page.origin = fmt::format("{}, map {}, compute model {}, constants {}, shardsim {}", judgement.measurements,
                            judgement.map, judgement.model, judgement.constants, version());
  page.summary = kernel_summary(judgement);
  page.legend =
      figures_legend(kKernelFigures) + " Operands: rows of all lookups, pairs of a sort, operands of a matrix product.";
  page.parts = {"Each GPU", {gpus_sheet(judgement)}};
  page.overall = {"Over all GPUs", {kinds_sheet(judgement)}, "every row weighing the same"};
  if (medium == Medium::page) {
    page.charts = kernel_charts(judgement);
    page.every_row = table_section("Every row", "", every_row(judgement));
  }
  page.out_of_model = out_section(judgement);
  return document_of(std::move(page), medium);
}

std::string kernel_markdown(const KernelJudgement& judgement) {
  Document document;
  document.blocks = {Section{"", {kinds_sheet(judgement)}}, Section{"", {every_row(judgement)}}};
  return "<!-- begin: written by shardsim compute compare -->\n" + document_markdown(document, 3) + "<!-- end -->\n";
}

}  // namespace shardsim
