#include <fmt/args.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/text.h"
#include "cli/commands/all.h"
#include "cli/commands/cluster.h"
#include "cli/commands/collective.h"
#include "cli/commands/shared.h"
#include "models/collective/channel_layout.h"
#include "models/collective/fitted_overheads.h"
#include "models/collective/slower_links.h"
#include "study/confidence/class_errors.h"
#include "study/confidence/iteration_parts.h"
#include "topology/spec/gpu_models.h"

namespace shardsim {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kElement = 4;  // bytes of a float

std::vector<CollectivePrediction> predictions_of(const CollectiveRequest& request, const Cluster& cluster) {
  CollectiveQuestion question;
  question.kind = request.kind;
  question.ranks = request.groups.front();
  question.beside.assign(request.groups.begin() + 1, request.groups.end());
  std::vector<CollectivePrediction> predictions;
  for (std::size_t row = 0; row < request.sizes.size(); ++row) {
    question.bytes = request.sizes[row];
    question.matrix = request.matrices.empty() ? nullptr : &request.matrices[row];
    question.rank_bytes = request.rank_bytes.empty() ? nullptr : &request.rank_bytes;
    predictions.push_back(predict_collective(question, cluster));
  }
  return predictions;
}

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

// Adds a note about the first size that would take less time with slower links.
void note_slower_links(const CollectiveRequest& request, const Cluster& cluster, std::vector<std::string>& notes) {
  const SlowerLinks slower(cluster);
  for (const std::int64_t bytes : request.sizes) {
    const CollectiveCall call{request.kind, request.groups.front(), nullptr, bytes};
    const std::string name = fmt::format("{} of {}", request.label, to_text(Bytes{bytes}));
    std::string note = slower.better_for(call, name, "auto");
    if (note.empty()) continue;
    notes.push_back(std::move(note));
    return;
  }
}

// Times that differ by less than anybody can measure: where two choices tie, neither is the better one.
bool tie(Seconds a, Seconds b) {
  constexpr double kTelling = 1e-3;
  return std::abs(a.value - b.value) <= kTelling * std::max(a.value, b.value);
}

// Returns why a forced algorithm or protocol is not what runs; "" where it is.
std::string untaken_note(const CollectiveRequest& request, const std::vector<CollectivePrediction>& predictions,
                         const NcclSettings& forced) {
  if (forced.algorithm.empty() && forced.protocol.empty()) return "";
  if (std::ranges::all_of(predictions, [](const auto& one) { return one.protocol.empty(); }))
    return fmt::format(
        "{} has neither an algorithm nor a protocol to choose here, so what is forced of them has no effect.",
        request.label);
  const auto untaken =
      std::ranges::find_if(predictions, [&](const auto& one) { return !leaves(forced.algorithm, one.algorithm); });
  if (untaken == predictions.end()) return "";
  return fmt::format("The forced algorithm, {}, is none that NCCL has for {} on this group: it runs {}.",
                     forced.algorithm, request.label, untaken->algorithm);
}

// Returns what NCCL would have chosen for the sizes at which it is forced to something else.
std::string unforced_note(const CollectiveRequest& request, const std::vector<CollectivePrediction>& predictions,
                          const Cluster& cluster) {
  if (cluster.spec().forced == NcclSettings{}) return "";
  ClusterSpec free = cluster.spec();
  free.forced = {};
  const std::vector<CollectivePrediction> by_choice = predictions_of(request, Cluster(std::move(free)));
  std::vector<std::string> parts;
  bool same = true;
  for (std::size_t row = 0; row < by_choice.size(); ++row) {
    const CollectivePrediction& choice = by_choice[row];
    const std::string name = choice.algorithm + (choice.protocol.empty() ? "" : " " + choice.protocol);
    same = same && choice.algorithm == predictions[row].algorithm && choice.protocol == predictions[row].protocol;
    if (tie(choice.time, predictions[row].time)) continue;
    parts.push_back(fmt::format("{} at {} ({:.1f} us)", name, to_text(Bytes{request.sizes[row]}), choice.time.us()));
  }
  const std::string untaken = untaken_note(request, predictions, cluster.spec().forced);
  if (parts.empty()) return same && untaken.empty() ? "NCCL would choose the same by itself." : untaken;
  return untaken + (untaken.empty() ? "" : " ") + "NCCL would choose by itself: " + first_names(parts, 6) + ".";
}

// Says from which size on stated channels, and no link, are the limit: where twice as many would be faster.
std::string channels_note(const CollectiveRequest& request, const std::vector<CollectivePrediction>& predictions,
                          const Cluster& cluster) {
  const int channels = cluster.spec().forced.channels;
  if (channels == 0) return "";
  ClusterSpec wider = cluster.spec();
  wider.forced.channels = std::min(2 * channels, kMostChannels);
  const std::vector<CollectivePrediction> with_more = predictions_of(request, Cluster(wider));
  const std::string stated = counted(static_cast<std::size_t>(channels), "channel");
  for (std::size_t row = 0; row < predictions.size(); ++row) {
    const CollectivePrediction& more = with_more[row];
    if (more.time.value > predictions[row].time.value || tie(more.time, predictions[row].time)) continue;
    return fmt::format("{} {} the limit, and no link, first at {}: with {} it would take {:.1f} us.", stated,
                       channels == 1 ? "is" : "are", to_text(Bytes{request.sizes[row]}), wider.forced.channels,
                       more.time.us());
  }
  return std::ranges::all_of(predictions, [](const auto& one) { return one.protocol.empty(); })
             ? fmt::format("{} bound what a pair of GPUs sends, not a GPU, and are no limit here.", stated)
             : "";
}

// The GPUs of one node that communicate, in all groups.
int ranks_beside(const CollectiveRequest& request, const Cluster& cluster) {
  const int node = cluster.node_of(request.groups.front().front());
  int ranks = 0;
  for (const std::vector<int>& group : request.groups)
    ranks += static_cast<int>(std::ranges::count(group, node, [&](int rank) { return cluster.node_of(rank); }));
  return ranks;
}

// The sum of a node's NICs, GB/s.
double nics_gbps(const ClusterSpec& spec) {
  return nics_of_node(spec) * spec.nics->rate.bytes_per_second * 1e-9;
}

// The bus bandwidth of one size, GB/s.
struct BusRate {
  double gbps = 0;
  std::string size, algorithm;
};

// The first bus bandwidth above so many GB/s; nothing where none is.
std::optional<BusRate> first_above(double gbps, double bus_factor, const CollectiveRequest& request,
                                   const std::vector<CollectivePrediction>& predictions) {
  for (std::size_t row = 0; row < predictions.size(); ++row) {
    const double bus = static_cast<double>(request.sizes[row]) / predictions[row].time.value * 1e-9 * bus_factor;
    if (bus > gbps) return BusRate{bus, to_text(Bytes{request.sizes[row]}), predictions[row].algorithm};
  }
  return std::nullopt;
}

// Why a bus bandwidth may be above what the NICs of a node carry; "" where none is.
std::string above_nics_note(const CollectiveRequest& request, const std::vector<CollectivePrediction>& predictions,
                            const Cluster& cluster) {
  const ClusterSpec& spec = cluster.spec();
  const std::vector<int>& ranks = request.groups.front();
  const GroupShape shape = group_shape(ranks, cluster);
  if (!spec.nics || !shape.across_nodes() || request.uneven()) return "";
  const double nics = nics_gbps(spec), factor = bus_factor(request.kind, shape.members);
  const std::optional<BusRate> bus = first_above(nics, factor, request, predictions);
  if (!bus) return "";
  return fmt::format(
      "busbw is above the {:.0f} GB/s that the NICs of a node carry (first at {}: {:.0f} GB/s, {}). It counts "
      "what a flat ring would send per GPU, {:.3g} of the size. What really leaves a node is less: bytes are "
      "reduced or gathered inside it first, and each GPU then uses the NIC of its own rail.",
      nics, bus->size, bus->gbps, bus->algorithm, factor);
}

// Why an all-to-all has a bus bandwidth above the share that a GPU has of its node's NICs; "" where it has none.
std::string within_node_note(const CollectiveRequest& request, const std::vector<CollectivePrediction>& predictions,
                             const Cluster& cluster) {
  const ClusterSpec& spec = cluster.spec();
  const GroupShape shape = group_shape(request.groups.front(), cluster);
  const bool even = !request.uneven() && shape.min_per_node == shape.max_per_node;
  if (request.kind != CollectiveKind::all_to_all || !even || !spec.nics || !shape.across_nodes()) return "";
  const int sharing = ranks_beside(request, cluster);
  const double nics = nics_gbps(spec) / sharing;
  const std::optional<BusRate> bus = first_above(nics, bus_factor(request.kind, shape.members), request, predictions);
  if (!bus) return "";
  const int others = shape.members - 1, leaving = shape.members - shape.max_per_node;
  return fmt::format(
      "busbw is above the {:.3g} GB/s that the NICs of a node carry for each of {} (first at {}: {:.0f} GB/s). It "
      "counts all that a GPU sends to others: {} of {} parts leave its node, {:.3g} GB/s; the others do not cross a "
      "NIC.",
      nics, counted(static_cast<std::size_t>(sharing), "GPU"), bus->size, bus->gbps, leaving, others,
      bus->gbps * leaving / others);
}

// Where NCCL's channels between two GPUs of different nodes carry less than a NIC: the more ranks a communicator has,
// the fewer channels it gives a pair, though a shift needs one pair alone.
std::string pair_channels_note(const CollectiveRequest& request, const Cluster& cluster) {
  const ClusterSpec& spec = cluster.spec();
  const GroupShape shape = group_shape(request.groups.front(), cluster);
  if (request.kind != CollectiveKind::send_recv || !spec.nics || !shape.across_nodes()) return "";
  const Bandwidth pair = remote_pair_rate(shape, cluster), port = cluster.links()[cluster.nic_out(0, 0)].rate;
  if (pair >= nic_efficiency({request.kind, shape, kGiB}, cluster) * port) return "";
  const int channels = channels_per_remote_peer(shape, cluster);
  const GroupShape two{2, 2, 1, 1};
  return fmt::format(
      "A communicator of {} ranks has {} of {} between two GPUs of different nodes, so they exchange {}, and not the "
      "{} of a NIC; one of two ranks has {}. p2p.channels_per_peer states another number.",
      shape.members, counted(static_cast<std::size_t>(channels), "channel"), to_text(spec.p2p.channel_rate),
      to_text(pair), to_text(port), channels_per_remote_peer(two, cluster));
}

// Where the channels that NCCL gives a pair of GPUs of one node carry less than their NVLinks: they are more for a
// larger send.
std::string node_channels_note(const CollectiveRequest& request, const Cluster& cluster) {
  const ClusterSpec& spec = cluster.spec();
  const GroupShape shape = group_shape(request.groups.front(), cluster);
  if (request.kind != CollectiveKind::send_recv || shape.members < 2) return "";
  const Bandwidth port = spec.nvlink.links_per_gpu * spec.nvlink.per_link_effective;
  for (const std::int64_t bytes : request.sizes) {
    const auto rate = channel_rate_of({request.kind, shape, bytes}, cluster);
    const int channels = channels_of_send(bytes, shape.members, spec);
    if (!rate || !(channels * *rate < port)) continue;
    return fmt::format(
        "NCCL gives a pair of {} GPUs {} of {} for {}, so they exchange {:.3g} GB/s, and not the {:.3g} of the "
        "NVLinks; a channel carries at most 16 MiB where a pair can have more.",
        shape.members, counted(static_cast<std::size_t>(channels), "channel"), to_text(*rate), to_text(Bytes{bytes}),
        channels * rate->bytes_per_second * 1e-9, port.bytes_per_second * 1e-9);
  }
  return "";
}

std::vector<std::string> notes_of(const CollectiveRequest& request,
                                  const std::vector<CollectivePrediction>& predictions, const Cluster& cluster) {
  std::vector<std::string> notes = cluster_notes(cluster.spec());
  note_slower_links(request, cluster, notes);
  if (std::string why = above_nics_note(request, predictions, cluster); !why.empty()) notes.push_back(std::move(why));
  if (std::string why = within_node_note(request, predictions, cluster); !why.empty()) notes.push_back(std::move(why));
  if (std::string pairs = pair_channels_note(request, cluster); !pairs.empty()) notes.push_back(std::move(pairs));
  if (std::string pairs = node_channels_note(request, cluster); !pairs.empty()) notes.push_back(std::move(pairs));
  if (std::string choice = unforced_note(request, predictions, cluster); !choice.empty()) notes.push_back(choice);
  if (std::string limit = channels_note(request, predictions, cluster); !limit.empty()) notes.push_back(limit);
  const auto add = [&](std::string CollectivePrediction::*why, std::string_view fit, std::string_view taken) {
    const auto outside = [&](const CollectivePrediction& prediction) { return !(prediction.*why).empty(); };
    const auto first = std::ranges::find_if(predictions, outside);
    if (first == predictions.end()) return;
    notes.push_back(fmt::format("The cluster's fitted {} not hold for {} of {} rows (first: {}): those take {}.", fit,
                                std::ranges::count_if(predictions, outside), predictions.size(), (*first).*why, taken));
  };
  const auto outside = std::ranges::find_if(predictions, [](const auto& one) { return !one.outside_fit.empty(); });
  if (outside != predictions.end()) add(&CollectivePrediction::outside_fit, "overheads do", outside->taken_outside_fit);
  const CallShape call{request.kind, group_shape(request.groups.front(), cluster), 0};
  add(&CollectivePrediction::extrapolated_fit, "overheads were measured on other groups or larger sizes and do",
      taken_beyond_fit(call, cluster.spec()));
  add(&CollectivePrediction::outside_relay_fit, "nvb_efficiency does", "it all the same");
  return notes;
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
