#include "validate/measurements/calibration.h"

#include <fmt/format.h>

#include <algorithm>
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

// Rows of one collective, told apart.
struct Part {
  CollectiveKind kind;
  MeasuredRows used, unused;
};

std::vector<Part> parts_of(const MeasuredRows& rows, int most) {
  std::vector<Part> parts;
  for (const CollectiveKind kind : kAllCollectiveKinds) {
    MeasuredRows of_kind;
    std::ranges::copy_if(rows, std::back_inserter(of_kind), [&](const MeasuredRow& row) { return row.kind == kind; });
    if (of_kind.empty()) continue;
    const std::vector<std::size_t> chosen = rows_to_fit(of_kind, most);
    Part part{kind, {}, {}};
    for (std::size_t i = 0; i < of_kind.size(); ++i)
      (std::ranges::binary_search(chosen, i) ? part.used : part.unused).push_back(of_kind[i]);
    parts.push_back(std::move(part));
  }
  return parts;
}

// Kinds that share a number are fitted together: all_to_all and send_recv share the rate of a channel.
std::vector<MeasuredRows> fits_of(const std::vector<Part>& parts) {
  std::vector<MeasuredRows> fits;
  MeasuredRows peer_to_peer;
  for (const Part& part : parts) {
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

// What the rows of one kind and reach cover, those that judge the fit included.
FitRange covered(const std::vector<const MeasuredRow*>& rows, const ClusterSpec& spec) {
  FitRange range;
  range.bytes_from = {*rows.front()->bytes};
  range.ranks_from = range.ranks_to = rows.front()->nodes * rows.front()->gpus_per_node;
  for (const MeasuredRow* const row : rows) {
    range.bytes_from = std::min(range.bytes_from, Bytes{*row->bytes});
    range.ranks_from = std::min(range.ranks_from, row->nodes * row->gpus_per_node);
    range.ranks_to = std::max(range.ranks_to, row->nodes * row->gpus_per_node);
  }
  if (range.bytes_from.count <= kStartAlone) range.bytes_from = {0};
  range.nvlink = nvlink_kind_name(spec.nvlink.kind);
  return range;
}

// The spec with the range of the measurements in each reach that is going to be fitted to them.
ClusterSpec with_ranges(ClusterSpec spec, const std::vector<Part>& parts) {
  for (const Part& part : parts) {
    for (const bool across : {false, true}) {
      std::vector<const MeasuredRow*> rows;
      for (const auto* some : {&part.used, &part.unused})
        for (const MeasuredRow& row : *some)
          if ((row.nodes > 1) == across) rows.push_back(&row);
      if (rows.empty()) continue;
      OverheadPair& reaches = spec.overheads[std::string(collective_kind_name(part.kind))];
      (across ? reaches.across_nodes : reaches.in_node).holds_for = covered(rows, spec);
    }
  }
  return spec;
}

class Calibrator {
 public:
  Calibrator(const ClusterSpec& prior, const std::vector<Part>& parts, const CalibrationOptions& options)
      : prior_(prior), parts_(parts), options_(options), spec_(with_ranges(with_launch_in_starts(prior), parts)) {}

  Calibration result() {
    for (const MeasuredRows& rows : fits_of(parts_)) {
      OverheadFit fit = fit_overheads(spec_, rows);
      spec_ = std::move(fit.spec);
      changed_.insert(changed_.end(), fit.changed.begin(), fit.changed.end());
    }
    spec_ = with_common_launch(std::move(spec_), prior_.launch_overhead);
    Calibration calibration;
    calibration.system = parts_.front().used.front().system;
    for (const Part& part : parts_) calibration.collectives.push_back(collective(part));
    note_values(calibration);
    for (const Part& part : parts_)
      calibration.unused.insert(calibration.unused.end(), part.unused.begin(), part.unused.end());
    calibration.spec = std::move(spec_);
    return calibration;
  }

 private:
  CollectiveCalibration collective(const Part& part) const {
    CollectiveCalibration result;
    result.kind = part.kind;
    result.used = part.used;
    result.unused_rows = static_cast<int>(part.unused.size());
    result.on_used = errors_on(kAllSizes, judged_on(prior_, part.used), judged_on(spec_, part.used));
    const auto before = judged_on(prior_, part.unused), after = judged_on(spec_, part.unused);
    result.below_1mib = errors_on(kBelow1MiB, before, after);
    result.from_1mib = errors_on(kFrom1MiB, before, after);
    return result;
  }

  // Writes down where the value comes from, and gives what became of it.
  CalibratedValue note(const std::string& path, const std::string& before, const std::string& after,
                       const std::vector<const CollectiveCalibration*>& fitted) {
    SourcedValue source;
    source.path = path;
    source.value = after;
    source.source = fmt::format("{}, system {}", options_.measurements, parts_.front().used.front().system);
    double worst = -1;
    for (const CollectiveCalibration* one : fitted) {
      for (const MeasuredRow& row : one->used) source.fitted_on.push_back(row_name(row));
      worst = std::max(worst, one->stated_error_pct().value_or(-1));
    }
    source.rows_used = static_cast<std::int64_t>(source.fitted_on.size());
    note_fitted(spec_, std::move(source), worst);
    return {path, before, after};
  }

  void note_values(Calibration& calibration) {
    for (CollectiveCalibration& one : calibration.collectives) {
      for (const CalibratedNumber& number : changed_) {
        if (number.key == CalibratedKey::channel_rate || number.kind != one.kind) continue;
        one.values.push_back(note(number.path(), number_text(number, number_in(prior_, number), kWrittenDigits),
                                  number_text(number, number_in(spec_, number), kWrittenDigits), {&one}));
      }
    }
    note_launch(calibration);
    note_channel_rate(calibration);
  }

  template <typename Test>
  static std::vector<const CollectiveCalibration*> those(const Calibration& calibration, Test test) {
    std::vector<const CollectiveCalibration*> found;
    for (const CollectiveCalibration& one : calibration.collectives)
      if (test(one.kind)) found.push_back(&one);
    return found;
  }

  void note_launch(Calibration& calibration) {
    if (prior_.launch_overhead == spec_.launch_overhead) return;
    const auto launched = those(calibration, [&](CollectiveKind kind) { return !is_peer_to_peer(kind); });
    calibration.shared.push_back(
        note(kLaunchPath, exact_text(prior_.launch_overhead), exact_text(spec_.launch_overhead), launched));
  }

  void note_channel_rate(Calibration& calibration) {
    for (const CalibratedNumber& number : changed_) {
      if (number.key != CalibratedKey::channel_rate) continue;
      calibration.shared.push_back(note(number.path(), exact_text(prior_.p2p.channel_rate),
                                        number_text(number, number_in(spec_, number), kWrittenDigits),
                                        those(calibration, is_peer_to_peer)));
    }
  }

  const ClusterSpec& prior_;
  const std::vector<Part>& parts_;
  const CalibrationOptions& options_;
  ClusterSpec spec_;
  std::vector<CalibratedNumber> changed_;
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
    throw input_error({options.measurements},
                      fmt::format("{} with both a size and a time", complete.empty() ? "no row" : "only one row"),
                      "Calibrating needs two rows at least, and more to judge it by");
  }
  const std::vector<Part> parts = parts_of(complete, options.rows_per_collective);
  Calibration calibration = Calibrator(prior, parts, options).result();
  calibration.incomplete = incomplete;
  return calibration;
}

void note_fitted(ClusterSpec& spec, SourcedValue value, double error_pct) {
  value.fitted = true;
  if (error_pct >= 0) value.error_unused_pct = parse_real(fmt::format("{:.4g}", error_pct), {value.path});
  std::erase_if(spec.sources, [&](const SourcedValue& old) { return old.path == value.path; });
  spec.sources.push_back(std::move(value));
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
