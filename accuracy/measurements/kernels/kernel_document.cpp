#include <fmt/format.h>

#include <algorithm>

#include "accuracy/measurements/kernels/kernel_judgement.h"
#include "base/document/cells.h"
#include "base/files.h"
#include "base/text.h"

namespace shardsim {
namespace {

Sheet kernel_sheet(const std::string& what) {
  Sheet sheet;
  sheet.columns = {{what, false},   {"operands", false}, {"rows", true},    {"median %", true},
                   {"p95 %", true}, {"worst %", true},   {"signed %", true}};
  return sheet;
}

void add_kernel_bands(Sheet& sheet, std::string name, const BandFigures& figures, bool quiet, std::size_t from,
                      std::size_t upto) {
  for (std::size_t i = from; i < upto; ++i) {
    const ErrorFigures& band = figures.bands[i];
    if (band.rows == 0) continue;
    sheet.rows.push_back(
        {{name, std::string(kSizeBands[i].name), std::to_string(band.rows), percent(band.median_abs_pct),
          percent(band.p95_abs_pct), percent(band.worst_abs_pct), signed_percent(band.signed_pct)},
         quiet});
    name.clear();
  }
}

std::string kind_words(KernelKind kind) {
  std::string words(kernel_kind_name(kind));
  std::ranges::replace(words, '_', ' ');
  return words;
}

Sheet gpus_sheet(const KernelJudgement& judgement) {
  Sheet sheet = kernel_sheet("kernel");
  std::string before;
  for (const KernelFigures& figures : judgement.by_gpu) {
    if (figures.gpu != before) sheet.rows.push_back({{figures.gpu}});
    before = figures.gpu;
    add_kernel_bands(sheet, kind_words(figures.kind), figures.predicted, false, 0, kDisjointBands);
    add_kernel_bands(sheet, kind_words(figures.kind) + ", fitted on", figures.fitted, true, 0, kDisjointBands);
  }
  return sheet;
}

Sheet kinds_sheet(const KernelJudgement& judgement) {
  Sheet sheet = kernel_sheet("over all GPUs");
  const std::size_t all = kSizeBands.size() - 1;
  for (const KernelFigures& figures : judgement.by_kind) {
    add_kernel_bands(sheet, kind_words(figures.kind), figures.predicted, false, all, all + 1);
    add_kernel_bands(sheet, kind_words(figures.kind) + ", fitted on", figures.fitted, true, all, all + 1);
  }
  add_kernel_bands(sheet, "all kernels", judgement.predicted, false, all, all + 1);
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

constexpr const char* kKernelLegend =
    "Errors of predicted compared with measured times: median, 95th percentile and maximum of their size. signed: the "
    "mean with its sign, positive if the predicted time is too long. Operands: rows of all lookups, pairs of a sort, "
    "operands of a matrix product.";

Section kernel_charts(const KernelJudgement& judgement) {
  Section section{"Predicted against measured",
                  {Paragraph{"One chart per GPU, with logarithmic axes. On the dashed line the prediction is exact; "
                             "the band is 10 % in both directions. Hollow points were used to fit a constant.",
                             Paragraph::Role::caption}}};
  section.side_by_side = true;
  std::string before;
  for (const KernelFigures& figures : judgement.by_gpu) {
    if (figures.gpu == before) continue;
    before = figures.gpu;
    DataSet points{
        "points",
        {"collective", "setting", "size_bytes", "measured_us", "predicted_us", "error_pct", "algorithm", "side"},
        {}};
    for (const JudgedKernel& judged : judgement.rows) {
      if (!judged.out_of_model.empty() || judged.gpu != figures.gpu) continue;
      const KernelRow& row = judged.row;
      points.rows.push_back({std::string(kernel_kind_name(row.kind)), row.shape(), row.operand_bytes(),
                             row.sizes.time_us, judged.predicted_us, judged.error_pct(), row.id,
                             std::string(judged.is_fitted ? "fitted" : "in the model")});
    }
    section.blocks.emplace_back(Chart{"gpu_" + std::to_string(section.blocks.size()),
                                      "predicted_vs_measured",
                                      figures.gpu,
                                      counted(points.rows.size(), "row") + ".",
                                      false,
                                      {points}});
  }
  return section;
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
  const Paragraph summary{kernel_summary(judgement), Paragraph::Role::summary};
  const Paragraph legend{kKernelLegend, Paragraph::Role::caption};
  Section gpus{"Each GPU", {gpus_sheet(judgement)}};
  gpus.style = Section::Heading::page_only;
  Section kinds{"Over all GPUs", {kinds_sheet(judgement)}, "every row weighing the same"};
  kinds.style = Section::Heading::as_it_is;
  Document document;
  if (medium == Medium::terminal) {
    document.blocks = {std::move(gpus), std::move(kinds), Section{"", {legend}}};
    document.add(out_section(judgement));
    document.blocks.emplace_back(Section{"", {summary}});
    return document;
  }
  document.title = "Kernels: predicted against measured";
  document.origin = fmt::format("{}, map {}, compute model {}, constants {}, shardsim {}", judgement.measurements,
                                judgement.map, judgement.model, judgement.constants, version());
  document.blocks = {summary, std::move(kinds), legend, kernel_charts(judgement), std::move(gpus)};
  document.add(table_section("Every row", "", every_row(judgement)));
  document.add(out_section(judgement));
  return document;
}

std::string kernel_markdown(const KernelJudgement& judgement) {
  Document document;
  document.blocks = {Section{"", {kinds_sheet(judgement)}}, Section{"", {every_row(judgement)}}};
  return "<!-- begin: written by shardsim compute compare -->\n" + document_markdown(document, 3) + "<!-- end -->\n";
}

}  // namespace shardsim
