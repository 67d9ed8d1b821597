#include "cli/commands/collective/prediction.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/text.h"
#include "models/collective/channel_layout.h"
#include "models/collective/fitted_overheads.h"
#include "models/collective/slower_links.h"

namespace shardsim {
namespace {

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

}  // namespace

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

}  // namespace shardsim
