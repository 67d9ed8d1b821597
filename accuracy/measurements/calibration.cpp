#include "accuracy/measurements/calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>

#include "accuracy/measurements/held_out.h"
#include "accuracy/measurements/overhead_fit.h"
#include "accuracy/measurements/row_layout.h"
#include "base/document/cells.h"
#include "base/fields/exact_text.h"
#include "base/text.h"

namespace shardsim {
namespace {

constexpr int kWrittenDigits = 6;            // what is left of a start of four digits less the launch overhead
constexpr std::int64_t kMostNamedRows = 12;  // by the source of a value
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
    lay_out(complete.back(), {0, 0, "", "State how many nodes and GPUs the run used"}, spec);
  }
  return complete;
}

std::string row_name(const MeasuredRow& row) {
  return fmt::format("{} {}x{} {}", collective_kind_name(row.kind), row.nodes, row.gpus_per_node,
                     exact_text(Bytes{*row.bytes}));
}

using Parts = std::vector<CollectiveCalibration>;
using Positions = std::vector<std::size_t>;  // of parts

// Rows of each collective and reach, those to be fitted told from the others.
Parts parts_of(const MeasuredRows& rows, const std::optional<int>& most) {
  Parts parts;
  for (const CollectiveKind kind : kAllCollectiveKinds) {
    MeasuredRows of_kind;
    std::ranges::copy_if(rows, std::back_inserter(of_kind), [&](const MeasuredRow& row) { return row.kind == kind; });
    const Positions chosen = most ? rows_to_fit(of_kind, *most) : Positions{};
    for (const bool across : {false, true}) {
      CollectiveCalibration part{kind, across, {}, {}, {}, {}, {}, false, false};
      for (std::size_t i = 0; i < of_kind.size(); ++i)
        if ((of_kind[i].nodes > 1) == across)
          (!most || std::ranges::binary_search(chosen, i) ? part.used : part.unused).push_back(of_kind[i]);
      if (!part.used.empty()) parts.push_back(std::move(part));
    }
  }
  return parts;
}

// Parts that share a number are fitted together: across nodes, all_to_all and send_recv share the rate of a channel.
std::vector<Positions> fits_of(const Parts& parts) {
  std::vector<Positions> fits;
  Positions by_channels;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].across_nodes && is_peer_to_peer(parts[i].kind)) {
      by_channels.push_back(i);
    } else {
      fits.push_back({i});
    }
  }
  if (!by_channels.empty()) fits.push_back(std::move(by_channels));
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

// The range that the rows of a part cover, those that judge the fit included.
std::optional<FitRange> range_of(const CollectiveCalibration& part, std::string_view nvlink) {
  std::optional<FitRange> range;
  for (const auto* const rows : {&part.used, &part.unused})
    for (const MeasuredRow& row : *rows) widen(range, row, nvlink);
  return range;
}

// True when an earlier calibration covers nothing that a range does not.
bool is_within(const OverheadSpec& earlier, const FitRange& range) {
  return earlier.before && earlier.holds_for && earlier.holds_for->bytes_from >= range.bytes_from &&
         earlier.holds_for->ranks_from >= range.ranks_from && earlier.holds_for->ranks_to > 0 &&
         earlier.holds_for->ranks_to <= range.ranks_to;
}

// Moves what a cluster says of a reach so far, with its sources, to `before`: calls that the rows of a part do not
// cover take it, or lean on it. What stood there stays where the rows cover all that an earlier calibration did.
void set_range(ClusterSpec& spec, const CollectiveCalibration& part) {
  OverheadSpec& reach = overheads_of(spec, part.kind, part.across_nodes);
  const std::optional<FitRange> range = range_of(part, nvlink_kind_name(spec.nvlink.kind));
  if (!is_within(reach, *range)) {
    reach.before = reach;
    const std::string path = reach_path(part.kind, part.across_nodes) + ".", before = path + "before.";
    std::erase_if(spec.sources, [&](const SourcedValue& source) { return source.path.starts_with(before); });
    std::vector<SourcedValue> moved;
    std::ranges::copy_if(spec.sources, std::back_inserter(moved),
                         [&](const SourcedValue& source) { return source.path.starts_with(path); });
    for (SourcedValue& source : moved) source.path.replace(0, path.size(), before);
    std::ranges::move(moved, std::back_inserter(spec.sources));
  }
  reach.holds_for = range;
}

ErrorsBeforeAndAfter errors_on(const SizeBand& band, const std::vector<LeftOutRow>& rows) {
  std::vector<Pair> before, after;
  for (const LeftOutRow& row : rows) {
    before.push_back(row.before.pair());
    after.push_back(row.after.pair());
  }
  return {error_figures(before, band), error_figures(after, band)};
}

class Calibrator {
 public:
  Calibrator(const ClusterSpec& prior, Parts parts, const CalibrationOptions& options)
      : prior_(prior), options_(options), parts_(std::move(parts)), system_(parts_.front().used.front().system) {}

  Calibration result() {
    made_.spec = with_launch_in_starts(prior_);
    for (const Positions& fit : fits_of(parts_)) calibrate_together(fit);
    made_.spec = with_common_launch(std::move(made_.spec), prior_.launch_overhead);
    made_.spec.nodes = std::max(made_.spec.nodes, most_nodes());
    made_.system = system_;
    note_values();
    made_.collectives = std::move(parts_);
    return std::move(made_);
  }

 private:
  using Kinds = std::function<bool(const CollectiveCalibration&)>;

  // Whoever measured so many nodes has them: the file must not describe fewer.
  int most_nodes() const {
    int most = 1;
    for (const CollectiveCalibration& part : parts_)
      for (const auto* const rows : {&part.used, &part.unused})
        for (const MeasuredRow& row : *rows) most = std::max(most, row.nodes);
    return most;
  }

  MeasuredRows rows_of(const Positions& fit, MeasuredRows CollectiveCalibration::*which) const {
    MeasuredRows rows;
    for (const std::size_t i : fit) std::ranges::copy(parts_[i].*which, std::back_inserter(rows));
    return rows;
  }

  // The rows of these parts that no fit saw, with the prediction of one that did not.
  std::vector<LeftOutRow> left_out_of(const Positions& fit, const ClusterSpec& start, const ClusterSpec& fitted,
                                      FitScope scope) const {
    const MeasuredRows unused = rows_of(fit, &CollectiveCalibration::unused);
    if (unused.empty()) return left_out_in_turn(prior_, start, rows_of(fit, &CollectiveCalibration::used), scope);
    return beside_each_other(judged_on(prior_, unused), judged_on(fitted, unused));
  }

  // A fit to some parts, and how it predicts the rows that it left out.
  struct Tried {
    OverheadFit found;
    std::vector<LeftOutRow> left_out;
  };

  Tried tried(const Positions& fit, FitScope scope) {
    ClusterSpec start = made_.spec;
    for (const std::size_t i : fit) set_range(start, parts_[i]);
    Tried of{fit_overheads(start, rows_of(fit, &CollectiveCalibration::used), scope), {}};
    of.left_out = left_out_of(fit, start, of.found.spec, scope);
    for (const std::size_t i : fit) add_errors(parts_[i], of.left_out, of.found.spec);
    return of;
  }

  bool is_good(const Positions& fit) const {
    return std::ranges::all_of(fit, [&](std::size_t i) { return parts_[i].is_judged() && !parts_[i].is_worse(); });
  }

  // Large calls, which take most of the time of training, may be predicted better by a fit that makes small ones worse:
  // then its efficiencies alone are tried, which small calls hardly feel, and judged in the same way.
  void calibrate_together(const Positions& fit) {
    Tried of = tried(fit, FitScope::all);
    bool taken = options_.force || is_good(fit);
    const bool larger_better = std::ranges::any_of(fit, [&](std::size_t i) { return parts_[i].from_1mib.is_better(); });
    if (!taken && larger_better) {
      Tried rates = tried(fit, FitScope::rates);
      const bool better = std::ranges::any_of(fit, [&](std::size_t i) { return parts_[i].from_1mib.is_better(); });
      taken = better && is_good(fit);
      if (taken) {
        of = std::move(rates);
      } else {
        for (const std::size_t i : fit) add_errors(parts_[i], of.left_out, of.found.spec);
      }
      for (const std::size_t i : fit) parts_[i].rates_alone = taken;
    }
    if (taken) {
      made_.spec = std::move(of.found.spec);
      changed_.insert(changed_.end(), of.found.changed.begin(), of.found.changed.end());
    }
    for (const std::size_t i : fit) {
      parts_[i].is_taken = taken;
      set_held_out(parts_[i], of.left_out);
    }
  }

  void add_errors(CollectiveCalibration& part, const std::vector<LeftOutRow>& left_out,
                  const ClusterSpec& fitted) const {
    const std::vector<LeftOutRow> own = of_part(left_out, part);
    part.on_used = errors_on(kAllSizes, beside_each_other(judged_on(prior_, part.used), judged_on(fitted, part.used)));
    part.below_1mib = errors_on(kBelow1MiB, own);
    part.from_1mib = errors_on(kFrom1MiB, own);
  }

  static std::vector<LeftOutRow> of_part(const std::vector<LeftOutRow>& rows, const CollectiveCalibration& part) {
    std::vector<LeftOutRow> own;
    std::ranges::copy_if(rows, std::back_inserter(own), [&](const LeftOutRow& row) {
      const MeasuredRow& measured = row.before.measured;
      return measured.kind == part.kind && (measured.nodes > 1) == part.across_nodes;
    });
    return own;
  }

  // Where the cluster keeps its constants, all rows are ones that nothing was fitted to.
  void set_held_out(const CollectiveCalibration& part, const std::vector<LeftOutRow>& left_out) {
    std::vector<JudgedRow> rows;
    if (part.is_taken) {
      for (const LeftOutRow& row : of_part(left_out, part)) rows.push_back(row.after);
    } else {
      for (const auto* const each : {&part.used, &part.unused})
        std::ranges::move(judged_on(prior_, *each), std::back_inserter(rows));
    }
    overheads_of(made_.spec, part.kind, part.across_nodes).held_out = held_out_calls(rows);
  }

  // Notes the values of each collective, then those of several.
  void note_values() {
    for (const CollectiveCalibration& part : parts_)
      note_changed(
          [&](const CalibratedNumber& number) {
            return !number.is_shared() && number.kind == part.kind && number.across_nodes == part.across_nodes;
          },
          [&](const CollectiveCalibration& other) { return &other == &part; });
    if (prior_.launch_overhead != made_.spec.launch_overhead)
      note(kLaunchPath, exact_text(prior_.launch_overhead), exact_text(made_.spec.launch_overhead),
           [](const CollectiveCalibration& part) { return !is_peer_to_peer(part.kind); });
    note_changed(&CalibratedNumber::is_shared,
                 [](const CollectiveCalibration& part) { return is_peer_to_peer(part.kind) && part.across_nodes; });
  }

  void note_changed(const std::function<bool(const CalibratedNumber&)>& is_one, const Kinds& fitted) {
    for (const CalibratedNumber& number : changed_)
      if (is_one(number))
        note(number.path(), number_text(number, number_in(prior_, number), kWrittenDigits),
             number_text(number, number_in(made_.spec, number), kWrittenDigits), fitted);
  }

  static void name_row(SourcedValue& source, const MeasuredRow& row) {
    if (source.fitted_on.size() < kMostNamedRows) source.fitted_on.push_back(row_name(row));
  }

  // Writes down what became of a value and where that comes from: the rows of the parts that were fitted.
  void note(const std::string& path, const std::string& before, const std::string& after, const Kinds& fitted) {
    SourcedValue source;
    source.path = path;
    source.value = after;
    source.source = fmt::format("{}, system {}", options_.measurements, system_);
    double worst = -1;
    for (const CollectiveCalibration& part : parts_) {
      if (!part.is_taken || !fitted(part)) continue;
      for (const MeasuredRow& row : part.used) name_row(source, row);
      source.rows_used += static_cast<std::int64_t>(part.used.size());
      worst = std::max(worst, part.stated_error_pct().value_or(-1));
    }
    if (source.rows_used > kMostNamedRows)
      source.fitted_on.push_back(fmt::format("and {} more", source.rows_used - kMostNamedRows));
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

// Predicted over measured by more than a factor of four, or by less than a quarter.
bool is_absurd(const ErrorFigures& errors) {
  constexpr double kFourTimes = 300, kAQuarter = -75;
  return errors.rows > 0 && (*errors.median_abs_pct > kFourTimes || *errors.signed_pct < kAQuarter);
}

// `text` of "all_reduce across nodes below 1 MiB" and its errors, of each band of sizes; joined, without empty ones.
template <typename Text>
std::string clause_of_bands(const std::vector<CollectiveCalibration>& collectives, const Text& text) {
  std::vector<std::string> texts;
  for (const CollectiveCalibration& one : collectives) {
    texts.push_back(text(one.name() + " below 1 MiB", one.below_1mib));
    texts.push_back(text(one.name() + " from 1 MiB", one.from_1mib));
  }
  std::erase(texts, "");
  constexpr std::size_t kMostTold = 3;
  return first_names(texts, kMostTold);
}

}  // namespace

bool ErrorsBeforeAndAfter::is_worse() const {
  return after.rows > 0 && *after.median_abs_pct > *before.median_abs_pct + kNoWorsePct;
}

bool ErrorsBeforeAndAfter::is_better() const {
  return after.rows > 0 && *after.median_abs_pct < *before.median_abs_pct - kNoWorsePct;
}

bool CollectiveCalibration::is_worse() const {
  return below_1mib.is_worse() || from_1mib.is_worse();
}

std::string CollectiveCalibration::name() const {
  return fmt::format("{} {}", collective_kind_name(kind), across_nodes ? "across nodes" : "in a node");
}

bool Calibration::took_any() const {
  return std::ranges::any_of(collectives, &CollectiveCalibration::is_taken);
}

std::string Calibration::worse_text() const {
  return clause_of_bands(collectives, [](const std::string& band, const ErrorsBeforeAndAfter& errors) {
    if (!errors.is_worse()) return std::string();
    return fmt::format("{} {} instead of {} %", band, percent(errors.after.median_abs_pct),
                       percent(errors.before.median_abs_pct));
  });
}

std::string Calibration::absurd_text() const {
  return clause_of_bands(collectives, [](const std::string& band, const ErrorsBeforeAndAfter& errors) {
    if (!is_absurd(errors.after)) return std::string();
    return fmt::format("{} by {} %", band, percent(errors.after.median_abs_pct));
  });
}

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
  Calibration calibration = Calibrator(prior, parts_of(complete, options.most_rows), options).result();
  calibration.incomplete = incomplete;
  return calibration;
}

}  // namespace shardsim
