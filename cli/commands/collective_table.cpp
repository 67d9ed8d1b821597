#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/text.h"
#include "cli/commands/collective.h"
#include "models/collective/fitted_overheads.h"

namespace shardsim {
namespace {

constexpr std::int64_t kElement = 4;  // bytes of a float

// One line of the table.
struct Line {
  std::int64_t size = 0, count = 0;
  double algbw = 0;             // GB/s
  std::optional<double> busbw;  // GB/s
};

bool is_total(CollectiveKind kind) {
  return kind == CollectiveKind::all_to_all || kind == CollectiveKind::all_gather ||
         kind == CollectiveKind::reduce_scatter;
}

Line line_of(const CollectiveRequest& request, std::size_t row, const CollectivePrediction& prediction) {
  const int ranks = static_cast<int>(request.groups.front().size());
  Line line;
  line.size = request.sizes[row];
  line.count = line.size / kElement / (is_total(request.kind) ? std::max(1, ranks) : 1);
  if (prediction.time.value > 0) line.algbw = static_cast<double>(line.size) / prediction.time.value * 1e-9;
  if (!request.uneven()) line.busbw = line.algbw * bus_factor(request.kind, ranks);
  return line;
}

std::string reduction_of(CollectiveKind kind) {
  return kind == CollectiveKind::all_reduce || kind == CollectiveKind::reduce_scatter ? "sum" : "none";
}

int root_of(CollectiveKind kind) {
  return kind == CollectiveKind::broadcast ? 0 : -1;
}

std::string groups_text(const CollectiveRequest& request) {
  const std::size_t groups = request.groups.size();
  return counted(request.groups.front().size(), "rank") +
         (groups > 1 ? fmt::format(", {} such groups at once", groups) : "");
}

std::vector<std::string> notes_of(const std::vector<CollectivePrediction>& predictions, const Cluster& cluster) {
  std::vector<std::string> notes = cluster_notes(cluster.spec());
  const auto add = [&](std::string CollectivePrediction::*why, std::string_view fit, std::string_view taken) {
    const auto outside = [&](const CollectivePrediction& prediction) { return !(prediction.*why).empty(); };
    const auto first = std::ranges::find_if(predictions, outside);
    if (first == predictions.end()) return;
    notes.push_back(fmt::format("The cluster's fitted {} not hold for {} of {} rows (first: {}): those take {}.", fit,
                                std::ranges::count_if(predictions, outside), predictions.size(), (*first).*why, taken));
  };
  add(&CollectivePrediction::outside_fit, "overheads do", "the public defaults");
  add(&CollectivePrediction::outside_relay_fit, "nvb_efficiency does", "it all the same");
  return notes;
}

}  // namespace

std::string collective_table(const CollectiveRequest& request, const std::vector<CollectivePrediction>& predictions,
                             const Cluster& cluster) {
  std::string text = fmt::format("# {} on {}, {}: group {}, {}; NCCL {} constants\n", request.label,
                                 cluster.spec().name, counted(static_cast<std::size_t>(cluster.nodes()), "node"),
                                 request.group, groups_text(request), cluster.spec().nccl);
  constexpr auto kLayout = "{:>12} {:>13} {:>9} {:>7} {:>7} {:>10} {:>7} {:>7}   {:<9} {:<8} {}\n";
  text += fmt::format(fmt::runtime(kLayout), "#       size", "count", "type", "redop", "root", "time", "algbw", "busbw",
                      "algorithm", "protocol", "bottleneck");
  text += fmt::format(fmt::runtime(kLayout), "#        (B)", "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)", "",
                      "", "link");
  for (std::size_t row = 0; row < predictions.size(); ++row) {
    const CollectivePrediction& p = predictions[row];
    const Line line = line_of(request, row, p);
    text +=
        fmt::format(fmt::runtime(kLayout), line.size, line.count, "float", reduction_of(request.kind),
                    root_of(request.kind), fmt::format("{:.2f}", p.time.us()), fmt::format("{:.2f}", line.algbw),
                    line.busbw ? fmt::format("{:.2f}", *line.busbw) : "N/A", p.algorithm.empty() ? "-" : p.algorithm,
                    p.protocol.empty() ? "-" : p.protocol, p.bottleneck.empty() ? "-" : p.bottleneck);
  }
  for (const std::string& note : notes_of(predictions, cluster)) text += "# note: " + note + "\n";
  return text;
}

std::string collective_json(const CollectiveRequest& request, const std::vector<CollectivePrediction>& predictions,
                            const Cluster& cluster) {
  using Json = nlohmann::ordered_json;
  Json json = {{"schema", "shardsim.collective/1"},
               {"cluster", cluster.spec().name},
               {"nodes", cluster.nodes()},
               {"nccl", cluster.spec().nccl},
               {"kind", request.label},
               {"group", request.group},
               {"ranks_per_group", request.groups.front().size()},
               {"groups_at_once", request.groups.size()}};
  json["results"] = Json::array();
  for (std::size_t row = 0; row < predictions.size(); ++row) {
    const CollectivePrediction& p = predictions[row];
    const Line line = line_of(request, row, p);
    Json result = {{"size", line.size},
                   {"count", line.count},
                   {"type", "float"},
                   {"redop", reduction_of(request.kind)},
                   {"root", root_of(request.kind)},
                   {"time_us", p.time.us()},
                   {"alg_bw", line.algbw},
                   {"bus_bw", line.busbw ? Json(*line.busbw) : Json(nullptr)},
                   {"algorithm", p.algorithm},
                   {"protocol", p.protocol},
                   {"bottleneck", p.bottleneck}};
    json["results"].push_back(std::move(result));
  }
  json["notes"] = notes_of(predictions, cluster);
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace shardsim
