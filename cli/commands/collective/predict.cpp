#include <fmt/args.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/text.h"
#include "cli/commands/all.h"
#include "cli/commands/cluster.h"
#include "cli/commands/collective/prediction.h"
#include "cli/commands/shared.h"
#include "models/collective/channel_layout.h"
#include "models/collective/fitted_overheads.h"
#include "study/confidence/class_errors.h"
#include "study/confidence/iteration_judge.h"
#include "topology/spec/gpu_models.h"

namespace shardsim {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kElement = 4;  // bytes of a float

// Above and below a predicted time, by which factor four times in five are at most off: of those that a calibration of
// the cluster left out, or where there is none, of the published ones of its class.
class CollectiveErrors {
 public:
  CollectiveErrors(const CollectiveRequest& request, const Cluster& cluster)
      : errors_(shipped_residuals()),
        spec_(cluster.spec()),
        called_(request.kind),
        shape_(group_shape(request.groups.front(), cluster)),
        guesses_copies_(guesses_host_copies(cluster.spec())),
        kind_(collective_kind_name(request.kind)),
        transport_(cluster.spec().nics ? cluster.spec().nics->transport : "") {
    const std::vector<int>& ranks = request.groups.front();
    across_ = std::ranges::any_of(ranks, [&](int rank) { return cluster.node_of(rank) != cluster.node_of(ranks[0]); });
  }

  double factor(std::int64_t size) const {
    const CallShape call{called_, shape_, size};
    const double published = errors_.scale(error_class(size));
    if (const auto own = held_out_scale(spec_, call))
      return std::exp(coverage_quantile() * own->beside(published, guessed_constant_scale()));
    const bool extrapolated =
        (across_ && guesses_copies_) || nearest_fitted(call, spec_).group.members != shape_.members;
    return std::exp(coverage_quantile() * (extrapolated ? std::hypot(published, guessed_constant_scale()) : published));
  }

  // "80 % of such times are within a factor of 1.40 (1 KiB), 1.31 (1 GiB)": where the factor changes.
  std::string words(const std::vector<std::int64_t>& sizes) const {
    std::vector<std::string> parts;
    for (const std::int64_t size : sizes) {
      const std::string text = fmt::format("{:.2f}", factor(size));
      if (parts.empty() || !parts.back().starts_with(text)) parts.push_back(text + " from " + to_text(Bytes{size}));
    }
    const bool own = std::ranges::all_of(sizes, [&](std::int64_t size) {
      return held_out_scale(spec_, {called_, shape_, size}).has_value();
    });
    if (!own && !across_ && guesses_copies_)
      return fmt::format(
          "nothing was published of copies through host memory at their full rate; it is guessed that 80 "
          "% of times are within this factor of ours: {} (docs/confidence.md)",
          join(parts));
    return fmt::format("80 % of {} times are within this factor of ours: {} (docs/confidence.md)",
                       own ? "the calibration's left-out" : "published", join(parts));
  }

 private:
  std::string error_class(std::int64_t size) const {
    if (!across_ && guesses_copies_) return std::string(kHostCopies);
    return collective_error_class(kind_, across_, transport_, size);
  }

  ClassErrors errors_;
  const ClusterSpec& spec_;
  CollectiveKind called_;
  GroupShape shape_;
  bool guesses_copies_;
  std::string kind_, transport_;
  bool across_ = false;
};

bool is_total(CollectiveKind kind) {
  return kind == CollectiveKind::all_to_all || kind == CollectiveKind::all_gather ||
         kind == CollectiveKind::reduce_scatter;
}

// One line of the table: sizes in bytes, rates in GB/s; uneven bytes have no bus rate.
Json prediction_row(const CollectiveRequest& request, std::int64_t size, const CollectivePrediction& prediction) {
  const int ranks = static_cast<int>(request.groups.front().size());
  const CollectiveKind kind = request.kind;
  const bool reduces = kind == CollectiveKind::all_reduce || kind == CollectiveKind::reduce_scatter;
  const double seconds = prediction.time.value;
  const double algbw = seconds > 0 ? static_cast<double>(size) / seconds * 1e-9 : 0;
  return {{"size", size},
          {"count", size / kElement / (is_total(kind) ? std::max(1, ranks) : 1)},
          {"type", "float"},
          {"redop", reduces ? "sum" : "none"},
          {"root", kind == CollectiveKind::broadcast ? 0 : -1},
          {"time_us", prediction.time.us()},
          {"alg_bw", algbw},
          {"bus_bw", request.uneven() ? Json() : Json(algbw * bus_factor(kind, ranks))},
          {"algorithm", prediction.algorithm},
          {"protocol", prediction.protocol},
          {"bottleneck", prediction.bottleneck}};
}

std::vector<Json> prediction_rows(const CollectiveRequest& request,
                                  const std::vector<CollectivePrediction>& predictions) {
  std::vector<Json> rows;
  for (std::size_t row = 0; row < predictions.size(); ++row)
    rows.push_back(prediction_row(request, request.sizes[row], predictions[row]));
  return rows;
}

std::string groups_text(const CollectiveRequest& request) {
  const std::size_t groups = request.groups.size();
  return counted(request.groups.front().size(), "rank") +
         (groups > 1 ? fmt::format(", {} such groups at once", groups) : "");
}

std::string cell_text(const Json& value) {
  if (value.is_string()) return value == "" ? "-" : value.get<std::string>();
  if (value.is_number_float()) return fmt::format("{:.2f}", value.get<double>());
  return value.is_null() ? "N/A" : value.dump();
}

// In the columns of nccl-tests (src/common.cu), and right of them algorithm, protocol and bottleneck.
std::string table_line(const std::vector<std::string>& cells) {
  fmt::dynamic_format_arg_store<fmt::format_context> columns;
  for (const std::string& cell : cells) columns.push_back(cell);
  return fmt::vformat("{:>12} {:>13} {:>9} {:>7} {:>7} {:>10} {:>7} {:>7}   {:<9} {:<8} {}\n", columns);
}

// The layout of nccl-tests: `#` header lines, then a row per size; count is of elements, of a peer's part where the
// size is a total.
std::string collective_table(const CollectiveRequest& request, const std::vector<CollectivePrediction>& predictions,
                             const Cluster& cluster) {
  std::string text = fmt::format("# {} on {}, {}: group {}, {}; NCCL {} constants\n", request.label,
                                 cluster.spec().name, counted(static_cast<std::size_t>(cluster.nodes()), "node"),
                                 request.group, groups_text(request), cluster.spec().nccl);
  text += table_line({"#       size", "count", "type", "redop", "root", "time", "algbw", "busbw", "algorithm",
                      "protocol", "bottleneck"});
  text += table_line({"#        (B)", "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)", "", "", "link"});
  for (const Json& row : prediction_rows(request, predictions)) {
    std::vector<std::string> cells;
    for (const Json& value : row) cells.push_back(cell_text(value));
    text += table_line(cells);
  }
  // How far such predictions are off says nothing of a cluster with a hole.
  if (!lacks_nvlink(cluster.spec()))
    text += "# note: " + CollectiveErrors(request, cluster).words(request.sizes) + "\n";
  for (const std::string& note : notes_of(request, predictions, cluster)) text += "# note: " + note + "\n";
  return text;
}

std::string collective_json(const CollectiveRequest& request, const std::vector<CollectivePrediction>& predictions,
                            const Cluster& cluster) {
  const CollectiveErrors errors(request, cluster);
  std::vector<Json> rows = prediction_rows(request, predictions);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const double us = predictions[row].time.us(), factor = errors.factor(request.sizes[row]);
    if (lacks_nvlink(cluster.spec())) continue;
    rows[row]["interval"] = {{"low_us", us / factor}, {"high_us", us * factor}, {"coverage", kCoverage}};
  }
  const Json json = {{"schema", "shardsim.collective/1"},
                     {"cluster", cluster.spec().name},
                     {"nodes", cluster.nodes()},
                     {"nccl", cluster.spec().nccl},
                     {"kind", request.label},
                     {"group", request.group},
                     {"ranks_per_group", request.groups.front().size()},
                     {"groups_at_once", request.groups.size()},
                     {"results", rows},
                     {"notes", notes_of(request, predictions, cluster)}};
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

// The cluster with the choices that the command line takes out of NCCL's hands.
ClusterSpec forced(ClusterSpec spec, const Arguments& given) {
  const auto refuse_unknown = [](const char* option, const std::string& word) {
    if (!word.empty())
      throw input_error(Arguments::place(option), "unknown name " + excerpt(word),
                        "Write it as for NCCL: --algorithm Ring, --algorithm ^NVLS, --protocol Simple");
  };
  if (const auto list = given.value("algorithm")) {
    refuse_unknown("algorithm", unknown_algorithm(*list));
    spec.forced.algorithm = *list;
  }
  if (const auto list = given.value("protocol")) {
    refuse_unknown("protocol", unknown_protocol(*list));
    spec.forced.protocol = *list;
  }
  if (const auto channels = given.count("channels", 1, kMostChannels))
    spec.forced.channels = static_cast<int>(*channels);
  if (const auto cross_nic = given.count("cross-nic", kNeverCrossNic, kCrossNicIfFaster))
    spec.forced.cross_nic = static_cast<int>(*cross_nic);
  return spec;
}

int predict(const Arguments& given, const Terminal&) {
  const Progress progress = progress_of(given, "predicting");
  const Cluster asked = asked_cluster(given.text("cluster"), Arguments::place("cluster"), given);
  const Cluster cluster(forced(asked.spec(), given));
  const CollectiveRequest request = collective_request(given, cluster);
  const auto predictions = predictions_of(request, cluster);
  print_result(given.has("json") ? collective_json(request, predictions, cluster)
                                 : collective_table(request, predictions, cluster));
  return 0;
}

Command predict_command() {
  return {
      .name = "shardsim collective predict",
      .summary = "predict how long a collective takes on a cluster when nothing else runs",
      .options =
          std::vector{Option{"cluster", 0, "NAME|FILE",
                             "The name of a shipped cluster (see `shardsim list clusters`), or a file.", "",
                             Option::Times::once},
                      nodes_option(), cluster_set_option()} +
          collective_request_options() +
          std::vector{
              Option{
                  "fits", 0, "NAME",
                  "Use these fitted constants instead of what the key `fits` of the cluster says: none or open_data."},
              Option{
                  "algorithm", 0, "LIST",
                  "Force NCCL's algorithm, as NCCL_ALGO does: Ring, Tree,Ring, or ^NVLS for all but that one. A note "
                  "says what NCCL would choose."},
              Option{"protocol", 0, "LIST", "Force its protocol, as NCCL_PROTO does: LL, LL128 or Simple."},
              Option{"channels", 0, "N",
                     "Force the number of its channels (CTAs), as NCCL_MIN_CTAS and NCCL_MAX_CTAS do."},
              Option{
                  "cross-nic", 0, "0|1|2",
                  "Whether rings may leave a node by another NIC, as NCCL_CROSS_NIC says: 0 never, 1 always, 2 where "
                  "more bandwidth is found so (NCCL's default)."},
              Option{"json", 0, "", "Print one JSON document instead of a table in the layout of nccl-tests."}},
      .examples = {"shardsim collective predict --cluster dgx_a100_80gb --nodes 2 --kind all_reduce --sizes "
                   "1KiB:1GiB:x4"},
      .run = predict};
}

}  // namespace

Command collective_command() {
  return {.name = "shardsim collective",
          .summary = "predict how long collectives take on a cluster; compare with measured times",
          .examples = {"shardsim collective predict --cluster dgx_a100_80gb --nodes 2 --kind all_reduce --sizes "
                       "1KiB:1GiB:x4",
                       "shardsim collective compare --measurements scenarios/measurements/open -o "
                       "out/collective_compare"},
          .parts = {predict_command(), collective_compare_command()}};
}

}  // namespace shardsim
