#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "accuracy/measurements/calibration.h"
#include "accuracy/measurements/held_out.h"
#include "accuracy/measurements/least_squares.h"
#include "base/fields/exact_text.h"
#include "base/statistics.h"
#include "base/text.h"
#include "base/units.h"
#include "models/compute/compute_model.h"

namespace shardsim {
namespace {

using Kind = EmbeddingRow::Kind;
using ComputeRows = std::vector<EmbeddingRow>;

constexpr std::size_t kLeastRows = 4;
constexpr double kHold = 0.01;          // weight that keeps a value which no row speaks of from running away
constexpr std::size_t kMostNamed = 12;  // rows that the source of a value names

const char* what_of(const EmbeddingRow& row) {
  if (row.kind == Kind::gemm) return "gemm";
  return row.is_update() ? "update" : "lookup";
}

// Whose peak a product's rate is a share of; rows that do not say it are of fp32.
std::string precision_of(const EmbeddingRow& row) {
  return row.dtype.empty() ? "fp32" : row.dtype;
}

ComputeWork work_of(const EmbeddingRow& row) {
  ComputeWork work;
  work.flops = row.flops();
  if (row.kind == Kind::gemm) {
    work.precision = precision_of(row);
    return work;
  }
  work.kind = row.is_update() ? ComputeWork::Kind::update : ComputeWork::Kind::lookup;
  work.hbm_bytes = row.hbm_bytes();
  work.lookups = row.lookups();
  work.sorted_update = row.is_update();
  return work;
}

bool serves(const EmbeddingRow& row) {
  if (row.kind == Kind::gemm) return true;
  return row.has_tables() && row.uniform && !row.warm && row.rows >= row.batch * row.pooling;
}

void check_precision(const EmbeddingRow& row) {
  const std::vector<std::string> known(kProductPrecisions.begin(), kProductPrecisions.end());
  if (row.kind != Kind::gemm || std::ranges::find(known, precision_of(row)) != known.end()) return;
  throw input_error(row.place, fmt::format("a product in {}, which no cluster states a rate of", excerpt(row.dtype)),
                    known_names_hint(row.dtype, known) + " Take the row out, or correct it");
}

// One number of the roofline: how it is reached, written and named.
struct Parameter {
  std::string path;
  std::string kinds;  // which rows speak of it
  double start;       // where the cluster gives none
  double most;
  double in_unit;  // one of the unit, as the number counts
  const char* unit;
  double& (*of)(GpuSpec&);

  bool is_about(const std::string& what) const { return kinds.find(what) != std::string::npos; }
  std::string text(GpuSpec gpu) const { return fmt::format("{:.6g}{}", of(gpu) / in_unit, unit); }
};

std::vector<Parameter> parameters() {
  using Gpu = GpuSpec&;
  return {{"gpu.kernel_overhead", "lookup update gemm", 1e-6, 1, 1e-6, " us",
           [](Gpu gpu) -> double& { return gpu.kernel_overhead.value; }},
          {"gpu.copy_bandwidth", "lookup update", 1e10, 1e16, 1e9, " GB/s",
           [](Gpu gpu) -> double& { return gpu.copy_bandwidth.bytes_per_second; }},
          {"gpu.lookups_per_ns", "lookup", 1, 1e6, 1, "", [](Gpu gpu) -> double& { return gpu.lookups_per_ns; }},
          {"gpu.sort_per_lookup", "update", 1e-9, 1, 1e-9, " ns",
           [](Gpu gpu) -> double& { return gpu.sort_per_lookup.value; }},
          {"gpu.sorted_update_efficiency", "update", 0.5, 1, 1, "",
           [](Gpu gpu) -> double& { return gpu.sorted_update_efficiency; }},
          {"gpu.flops_efficiency", "gemm", 0.5, 1, 1, "", [](Gpu gpu) -> double& { return gpu.flops_efficiency; }}};
}

class ComputeFit {
 public:
  ComputeFit(const ClusterSpec& prior, const ComputeRows& fit, const ComputeRows& check)
      : prior_(prior.gpu), fit_(fit), check_(check) {
    for (Parameter& parameter : parameters())
      if (std::ranges::any_of(fit, [&](const EmbeddingRow& row) { return parameter.is_about(what_of(row)); }))
        parameters_.push_back(std::move(parameter));
    make_room_for_products();
  }

  // From where the rows alone point: first as they are, then with far-off ones damped.
  GpuSpec best() const {
    const std::vector<double> start = start_of_rows();
    const auto residuals = [&](const std::vector<double>& at, bool is_damped) {
      const GpuSpec gpu = with(at);
      std::vector<double> result;
      for (const EmbeddingRow& row : fit_) {
        const double residual = std::log(seconds(row, gpu) * 1e6 / row.time_us);
        result.push_back(is_damped ? damped(residual) : residual);
      }
      for (std::size_t i = 0; i < at.size(); ++i) result.push_back(kHold * (at[i] - start[i]));
      return result;
    };
    const auto plain_fit = least_squares([&](const std::vector<double>& at) { return residuals(at, false); }, start);
    return with(least_squares([&](const std::vector<double>& at) { return residuals(at, true); }, plain_fit));
  }

  const std::vector<Parameter>& fitted() const { return parameters_; }

  ComputeErrors errors(const std::string& what, GpuSpec before, const GpuSpec& after) const {
    before.flops.insert(prior_.flops.begin(), prior_.flops.end());  // where none is stated, as fast as it was seen
    ComputeErrors errors;
    errors.what = what;
    std::vector<double> old, now;
    double misses = 0;
    for (const EmbeddingRow& row : fit_) errors.used += what_of(row) == what ? 1 : 0;
    for (const EmbeddingRow& row : check_) {
      if (what_of(row) != what) continue;
      old.push_back(100 * std::abs(seconds(row, before) * 1e6 / row.time_us - 1));
      now.push_back(100 * std::abs(seconds(row, after) * 1e6 / row.time_us - 1));
      misses += std::abs(std::log(seconds(row, after) * 1e6 / row.time_us));
    }
    errors.checked = static_cast<int>(now.size());
    errors.scale_after = now.empty() ? 0 : misses / static_cast<double>(now.size());
    errors.median_before = nearest_quantile(old, 0.5);
    errors.median_after = nearest_quantile(now, 0.5);
    errors.p90_after = nearest_quantile(now, 0.9);
    return errors;
  }

 private:
  // Returns what the rows say without a fit: the best rates that any of them reached, half of the least time as
  // overhead, and half of the least time per lookup of an update for its sort.
  std::vector<double> start_of_rows() const {
    double least = HUGE_VAL, sort = HUGE_VAL, bytes = 0, lookups = 0, of_peak = 0;
    for (const EmbeddingRow& row : fit_) {
      const double time = row.time_us * 1e-6;
      least = std::min(least, time);
      if (row.kind == Kind::gemm)
        of_peak = std::max(of_peak, row.flops() / time / prior_.flops.at(precision_of(row)).per_second);
      if (row.is_update()) sort = std::min(sort, time / row.lookups());
      if (!row.has_tables() || row.is_update()) continue;
      bytes = std::max(bytes, row.hbm_bytes() / time);
      lookups = std::max(lookups, row.lookups() / time);
    }
    const std::vector<std::pair<std::string, double>> said{{"gpu.kernel_overhead", least / 2},
                                                           {"gpu.copy_bandwidth", bytes},
                                                           {"gpu.lookups_per_ns", 2 * lookups * 1e-9},
                                                           {"gpu.sort_per_lookup", sort / 2},
                                                           {"gpu.flops_efficiency", of_peak}};
    std::vector<double> start;
    for (const Parameter& parameter : parameters_) {
      double value = parameter.start;
      for (const auto& [path, number] : said)
        if (path == parameter.path && number > 0) value = number;
      start.push_back(std::log(std::min(value, parameter.most)));
    }
    return start;
  }

  double seconds(const EmbeddingRow& row, const GpuSpec& gpu) const {
    return roofline_->seconds(work_of(row), gpu).value;
  }

  GpuSpec with(const std::vector<double>& logarithms) const {
    GpuSpec gpu = prior_;
    for (std::size_t i = 0; i < parameters_.size(); ++i)
      parameters_[i].of(gpu) = std::min(std::exp(logarithms[i]), parameters_[i].most);
    return gpu;
  }

  // Where products ran faster than the stated peak of their precision, or none is stated, the fastest of them is the
  // peak that an efficiency can refer to.
  void make_room_for_products() {
    for (const EmbeddingRow& row : fit_) make_room_for(row);
    for (const EmbeddingRow& row : check_)  // no time of these moves a peak that is known
      if (!prior_.flops.contains(precision_of(row))) make_room_for(row);
  }

  void make_room_for(const EmbeddingRow& row) {
    if (row.kind != Kind::gemm) return;
    const double rate = row.flops() / (row.time_us * 1e-6);
    double& peak = prior_.flops[precision_of(row)].per_second;
    if (rate > peak) peak = parse_flops(fmt::format("{:.6g} GFLOP/s", rate * 1e-9), {"gpu.flops"}).per_second;
  }

  GpuSpec prior_;
  const ComputeRows& fit_;
  const ComputeRows& check_;
  std::vector<Parameter> parameters_;
  std::unique_ptr<ComputeModel> roofline_ = make_compute_model(named_map("roofline"));
};

void check_rows(const ComputeRows& rows, const ComputeRows& fit, const std::string& measurements) {
  if (fit.size() < kLeastRows)
    throw input_error(
        {measurements}, fmt::format("{} rows to fit", fit.size()),
        fmt::format("Give at least {} of quality A or B with cold caches and uniform indices", kLeastRows));
  for (const EmbeddingRow& row : rows)
    if (row.gpu != rows.front().gpu)
      throw input_error(row.place,
                        fmt::format("a row of {} among those of {}", excerpt(row.gpu), excerpt(rows.front().gpu)),
                        "Give the rows of one device");
}

SourcedValue source_of(const std::string& path, const std::string& value, const std::string& measurements,
                       const std::vector<const EmbeddingRow*>& used) {
  SourcedValue source;
  source.path = path;
  source.value = value;
  source.source = fmt::format("{}, {}", measurements, used.front()->gpu);
  for (std::size_t i = 0; i < std::min(used.size(), kMostNamed); ++i)
    source.fitted_on.push_back(fmt::format("line {}: {} {}", used[i]->place.line, what_of(*used[i]), used[i]->shape()));
  if (used.size() > kMostNamed) source.fitted_on.push_back(fmt::format("and {} more", used.size() - kMostNamed));
  source.rows_used = static_cast<std::int64_t>(used.size());
  return source;
}

// Writes the fitted number down as its text reads back, with where it comes from.
void note(ComputeCalibration& calibration, const Parameter& parameter, const GpuSpec& before, const GpuSpec& fitted,
          const ComputeRows& fit, const std::string& measurements) {
  const std::string text = parameter.text(fitted);
  parameter.of(calibration.spec.gpu) = fitted_number(text, {parameter.path});
  std::vector<const EmbeddingRow*> used;
  for (const EmbeddingRow& row : fit)
    if (parameter.is_about(what_of(row))) used.push_back(&row);
  double worst = -1;
  for (const ComputeErrors& errors : calibration.errors)
    if (errors.checked > 0 && parameter.is_about(errors.what)) worst = std::max(worst, errors.median_after);
  note_fitted(calibration.spec, source_of(parameter.path, text, measurements, used), worst);
  calibration.values.push_back({parameter.path, parameter.text(before), text});
}

void keep_peaks(ComputeCalibration& calibration, const GpuSpec& before, const GpuSpec& after) {
  for (const auto& [precision, peak] : after.flops) {
    const auto old = before.flops.find(precision);
    if (old != before.flops.end() && old->second == peak) continue;
    const std::string path = "gpu.flops." + precision;
    calibration.spec.gpu.flops[precision] = peak;
    std::erase_if(calibration.spec.sources,
                  [&](const SourcedValue& s) { return s.path == "gpu.flops" || s.path == path; });
    calibration.values.push_back({path, old == before.flops.end() ? "-" : exact_text(old->second), exact_text(peak)});
  }
}

// Returns the errors of the kinds that enough rows judge.
HeldOutWork held_out_work(const std::vector<ComputeErrors>& errors) {
  HeldOutWork work;
  for (const ComputeErrors& one : errors) {
    if (one.checked < kLeastHeldOut) continue;
    (one.what == "lookup"   ? work.lookup
     : one.what == "update" ? work.update
                            : work.product) = written_scale(one.scale_after);
  }
  return work;
}

// Returns the range that the rows cover, those that judge the fit included.
WorkRange range_of(const ComputeRows& rows) {
  WorkRange range;
  for (const EmbeddingRow& row : rows) {
    const double gflop = row.flops() * 1e-9;
    if (row.kind == Kind::gemm) {
      range.gflop_from = range.gflop_to > 0 ? std::min(range.gflop_from, gflop) : gflop;
      range.gflop_to = std::max(range.gflop_to, gflop);
      continue;
    }
    const Bytes bytes{static_cast<std::int64_t>(row.hbm_bytes())};
    range.bytes_from = range.bytes_to ? std::min(range.bytes_from, bytes) : bytes;
    range.bytes_to = std::max(range.bytes_to.value_or(bytes), bytes);
  }
  return range;
}

}  // namespace

bool ComputeErrors::is_worse() const {
  return checked > 0 && median_after > median_before + kNoWorsePct;
}

std::string ComputeCalibration::worse_text() const {
  std::vector<std::string> texts;
  for (const ComputeErrors& one : errors)
    if (one.is_worse())
      texts.push_back(fmt::format("{} {:.1f} instead of {:.1f} %", one.what, one.median_after, one.median_before));
  return join(texts);
}

ComputeCalibration calibrate_compute(const ClusterSpec& prior, const EmbeddingTable& table,
                                     const std::string& measurements) {
  ComputeRows fit, check, all;
  ComputeCalibration calibration{prior, "", {}, {}, 0};
  for (const EmbeddingRow& row : table.rows) {
    if (!serves(row)) {
      calibration.left_out += row.has_tables() ? 1 : 0;
      continue;
    }
    check_precision(row);
    all.push_back(row);
    (row.is_check() ? check : fit).push_back(row);
  }
  check_rows(all, fit, measurements);
  calibration.gpu = all.front().gpu;
  const ComputeFit fitting(prior, fit, check);
  const GpuSpec best = fitting.best();
  for (const char* const what : {"lookup", "update", "gemm"}) {
    const ComputeErrors errors = fitting.errors(what, prior.gpu, best);
    if (errors.used + errors.checked > 0) calibration.errors.push_back(errors);
  }
  keep_peaks(calibration, prior.gpu, best);
  calibration.spec.gpu.holds_for = range_of(all);
  calibration.spec.gpu.held_out = held_out_work(calibration.errors);
  for (const Parameter& parameter : fitting.fitted()) note(calibration, parameter, prior.gpu, best, fit, measurements);
  return calibration;
}

}  // namespace shardsim
