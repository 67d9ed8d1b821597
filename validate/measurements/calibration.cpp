#include "validate/measurements/calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>

#include "base/text.h"
#include "topology/spec/exact_text.h"
#include "validate/measurements/overhead_fit.h"

namespace shardsim {
namespace {

constexpr int kWrittenDigits = 6;  // what is left of a start of four digits less the launch overhead
constexpr const char* kLaunchPath = "overheads.launch_overhead";

using MeasuredRows = std::vector<MeasuredRow>;

MeasuredRows complete_rows(const MeasuredRows& rows, const ClusterSpec& spec, int& incomplete) {
  MeasuredRows complete;
  for (const MeasuredRow& row : rows) {
    if (!row.is_complete()) {
      ++incomplete;
      continue;
    }
    complete.push_back(row);
    complete.back().fill_in(spec.nodes, spec.gpu.count);
  }
  return complete;
}

std::string row_name(const MeasuredRow& row) {
  return fmt::format("{} {}x{} {}", collective_kind_name(row.kind), row.nodes, row.gpus_per_node,
                     exact_text(Bytes{*row.bytes}));
}

std::vector<WeighedError> errors_in(const SizeBand& band, const std::vector<JudgedRow>& rows) {
  std::vector<WeighedError> errors;
  for (const JudgedRow& row : rows)
    if (band.holds(*row.measured.bytes)) errors.push_back({row.error_pct()});
  return errors;
}

ErrorsBeforeAndAfter errors_on(const SizeBand& band, const std::vector<JudgedRow>& before,
                               const std::vector<JudgedRow>& after) {
  return {error_figures(errors_in(band, before)), error_figures(errors_in(band, after))};
}

using Parts = std::vector<CollectiveCalibration>;

// Rows of each collective, those to be fitted told from the others.
Parts parts_of(const MeasuredRows& rows, int most) {
  Parts parts;
  for (const CollectiveKind kind : kAllCollectiveKinds) {
    MeasuredRows of_kind;
    std::ranges::copy_if(rows, std::back_inserter(of_kind), [&](const MeasuredRow& row) { return row.kind == kind; });
    if (of_kind.empty()) continue;
    const std::vector<std::size_t> chosen = rows_to_fit(of_kind, most);
    CollectiveCalibration& part = parts.emplace_back();
    part.kind = kind;
    for (std::size_t i = 0; i < of_kind.size(); ++i)
      (std::ranges::binary_search(chosen, i) ? part.used : part.unused).push_back(of_kind[i]);
  }
  return parts;
}

// Kinds that share a number are fitted together: all_to_all and send_recv share the rate of a channel.
std::vector<MeasuredRows> fits_of(const Parts& parts) {
  std::vector<MeasuredRows> fits;
  MeasuredRows peer_to_peer;
  for (const CollectiveCalibration& part : parts) {
    if (is_peer_to_peer(part.kind)) {
      peer_to_peer.insert(peer_to_peer.end(), part.used.begin(), part.used.end());
    } else {
      fits.push_back(part.used);
    }
  }
  if (!peer_to_peer.empty()) fits.push_back(std::move(peer_to_peer));
  return fits;
}

// Calls from so small a size on take little but their start, and smaller ones the same: there a fit has no lower end.
constexpr std::int64_t kStartAlone = 64 << 10;

void widen(std::optional<FitRange>& range, const MeasuredRow& row, std::string_view nvlink) {
  const Bytes bytes{*row.bytes <= kStartAlone ? 0 : *row.bytes};
  const int ranks = row.nodes * row.gpus_per_node;
  if (!range) {
    range.emplace();
    range->bytes_from = bytes;
    range->ranks_from = range->ranks_to = ranks;
    range->nvlink = nvlink;
  }
  range->bytes_from = std::min(range->bytes_from, bytes);
  range->ranks_from = std::min(range->ranks_from, ranks);
  range->ranks_to = std::max(range->ranks_to, ranks);
}

// The spec with what the rows of each kind and reach cover, those that judge the fit included.
ClusterSpec with_ranges(ClusterSpec spec, const Parts& parts) {
  for (const CollectiveCalibration& part : parts) {
    std::optional<FitRange> in_node, across_nodes;
    for (const auto* const rows : {&part.used, &part.unused})
      for (const MeasuredRow& row : *rows)
        widen(row.nodes > 1 ? across_nodes : in_node, row, nvlink_kind_name(spec.nvlink.kind));
    OverheadPair& reaches = spec.overheads[std::string(collective_kind_name(part.kind))];
    if (in_node) reaches.in_node.holds_for = in_node;
    if (across_nodes) reaches.across_nodes.holds_for = across_nodes;
  }
  return spec;
}

class Calibrator {
 public:
  Calibrator(const ClusterSpec& prior, Parts parts, const CalibrationOptions& options)
      : prior_(prior), options_(options), parts_(std::move(parts)), system_(parts_.front().used.front().system) {}

  Calibration result() {
    ClusterSpec fitted = with_ranges(with_launch_in_starts(prior_), parts_);
    for (const MeasuredRows& rows : fits_of(parts_)) {
      OverheadFit fit = fit_overheads(fitted, rows);
      fitted = std::move(fit.spec);
      changed_.insert(changed_.end(), fit.changed.begin(), fit.changed.end());
    }
    made_.spec = with_common_launch(std::move(fitted), prior_.launch_overhead);
    made_.spec.nodes = std::max(made_.spec.nodes, most_nodes());
    made_.system = system_;
    for (CollectiveCalibration& part : parts_) add_errors(part);
    note_values();
    made_.collectives = std::move(parts_);
    return std::move(made_);
  }

 private:
  using Kinds = std::function<bool(CollectiveKind)>;

  // Whoever measured so many nodes has them: the file must not describe fewer.
  int most_nodes() const {
    int most = 1;
    for (const CollectiveCalibration& part : parts_)
      for (const auto* const rows : {&part.used, &part.unused})
        for (const MeasuredRow& row : *rows) most = std::max(most, row.nodes);
    return most;
  }

  void add_errors(CollectiveCalibration& part) const {
    part.on_used = errors_on(kAllSizes, judged_on(prior_, part.used), judged_on(made_.spec, part.used));
    const auto before = judged_on(prior_, part.unused), after = judged_on(made_.spec, part.unused);
    part.below_1mib = errors_on(kBelow1MiB, before, after);
    part.from_1mib = errors_on(kFrom1MiB, before, after);
  }

  // Of each collective its own values, then those of several.
  void note_values() {
    for (const CollectiveCalibration& part : parts_)
      note_changed([&](const CalibratedNumber& number) { return !number.is_shared() && number.kind == part.kind; },
                   [&](CollectiveKind kind) { return kind == part.kind; });
    if (prior_.launch_overhead != made_.spec.launch_overhead)
      note(kLaunchPath, exact_text(prior_.launch_overhead), exact_text(made_.spec.launch_overhead),
           std::not_fn(is_peer_to_peer));
    note_changed(&CalibratedNumber::is_shared, is_peer_to_peer);
  }

  void note_changed(const std::function<bool(const CalibratedNumber&)>& is_one, const Kinds& fitted) {
    for (const CalibratedNumber& number : changed_)
      if (is_one(number))
        note(number.path(), number_text(number, number_in(prior_, number), kWrittenDigits),
             number_text(number, number_in(made_.spec, number), kWrittenDigits), fitted);
  }

  // Writes down what became of a value and where that comes from: the rows of the kinds that were fitted.
  void note(const std::string& path, const std::string& before, const std::string& after, const Kinds& fitted) {
    SourcedValue source;
    source.path = path;
    source.value = after;
    source.source = fmt::format("{}, system {}", options_.measurements, system_);
    double worst = -1;
    for (const CollectiveCalibration& part : parts_) {
      if (!fitted(part.kind)) continue;
      for (const MeasuredRow& row : part.used) source.fitted_on.push_back(row_name(row));
      worst = std::max(worst, part.stated_error_pct().value_or(-1));
    }
    source.rows_used = static_cast<std::int64_t>(source.fitted_on.size());
    note_fitted(made_.spec, std::move(source), worst);
    made_.values.push_back({path, before, after});
  }

  const ClusterSpec& prior_;
  const CalibrationOptions& options_;
  Parts parts_;
  std::string system_;
  std::vector<CalibratedNumber> changed_;
  Calibration made_;
};

}  // namespace

std::optional<double> CollectiveCalibration::stated_error_pct() const {
  return from_1mib.after.rows > 0 ? from_1mib.after.median_abs_pct : below_1mib.after.median_abs_pct;
}

Calibration calibrate(const ClusterSpec& prior, const std::vector<MeasuredRow>& rows,
                      const CalibrationOptions& options) {
  int incomplete = 0;
  const MeasuredRows complete = complete_rows(rows, prior, incomplete);
  if (complete.size() < 2) {
    throw input_error(
        {options.measurements},
        fmt::format("the file has {} with both a size and a time", complete.empty() ? "no row" : "only one row"),
        "A calibration needs at least two rows, and more to check it");
  }
  check_rank_count(prior, complete);  // every row is predicted several times
  Calibration calibration = Calibrator(prior, parts_of(complete, options.rows_per_collective), options).result();
  calibration.incomplete = incomplete;
  return calibration;
}

void note_fitted(ClusterSpec& spec, SourcedValue value, double error_pct) {
  value.fitted = true;
  if (error_pct >= 0) value.error_unused_pct = parse_real(fmt::format("{:.4g}", error_pct), {value.path});
  std::erase_if(spec.sources, [&](const SourcedValue& old) { return old.path == value.path; });
  spec.sources.push_back(std::move(value));
}

double fitted_number(const std::string& text, const Place& place) {
  if (text.ends_with("/s")) return parse_bandwidth(text, place).bytes_per_second;
  if (text.ends_with("s")) return parse_seconds(text, place).value;
  return parse_real(text, place);
}

std::vector<MeasuredRow> rows_of_system(const std::vector<MeasuredRow>& rows, const std::string& label,
                                        const std::string& measurements) {
  std::vector<std::string> labels;
  for (const MeasuredRow& row : rows)
    if (std::ranges::find(labels, row.system) == labels.end()) labels.push_back(row.system);
  if (labels.size() > 1 && label.empty()) {
    throw input_error({measurements}, fmt::format("the file holds {} systems", labels.size()),
                      fmt::format("Name one with --system: {}", join(labels)));
  }
  if (!label.empty() && std::ranges::find(labels, label) == labels.end()) {
    throw input_error({"argument --system"}, fmt::format("no row is of system {}", excerpt(label)),
                      known_names_hint(label, labels));
  }
  MeasuredRows chosen;
  std::ranges::copy_if(rows, std::back_inserter(chosen),
                       [&](const MeasuredRow& row) { return label.empty() || row.system == label; });
  return chosen;
}

}  // namespace shardsim
