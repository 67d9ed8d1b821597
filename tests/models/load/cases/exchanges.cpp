#include <algorithm>
#include <stdexcept>

#include "models/load/id_counts.h"
#include "tests/models/load/cases/case.h"

// Section 2: whole numbers of ids, and two tables under each sharding type.

namespace shardsim::golden {
namespace {

using Cells = std::vector<std::vector<std::int64_t>>;

const char* name_of_rule(IdCounts::Rule rule) {
  if (rule == IdCounts::Rule::even) return "even";
  return rule == IdCounts::Rule::two_sided ? "two_sided" : "by_destination";
}

std::vector<std::int64_t> sent_by(const IdCounts& counts, int source) {
  std::vector<std::int64_t> row;
  for (int owner = 0; owner < counts.owners(); ++owner) row.push_back(counts.sent(source, owner));
  return row;
}

// A table of the worked example, on some ranks of a group of sources that exchange with each other.
struct Held {
  std::string name;
  std::uint64_t rows = 0;
  std::int64_t ids = 0;     // of one source
  std::vector<int> owners;  // positions in the group
};

struct Group {
  int sources = 0;
  RowCut cut = RowCut::blocks;
  double row_bytes = 0, wire_bytes = 0;
  bool gradient = false;  // flex: a gradient is written, nothing is updated
  std::vector<Held> tables;
};

// The load of each position of the group.
struct Loads {
  Cells cells;
  std::vector<std::int64_t> lookups;
  std::vector<double> distinct, vectors;
  Json shares = Json::object();
};

Loads loads_of(const Group& group, const Json& access, RowOrder order, std::uint64_t seed, double bags) {
  const auto size = static_cast<std::size_t>(group.sources);
  Loads loads{Cells(size, std::vector<std::int64_t>(size, 0)), std::vector<std::int64_t>(size, 0),
              std::vector<double>(size, 0), std::vector<double>(size, 0)};
  for (const Held& held : group.tables) {
    const int k = static_cast<int>(held.owners.size());
    const CaseTable table{case_access(access, held.rows), 0, held.rows, k, order, group.cut, {held.name, seed, 0}};
    const RowShares shares = table.shares();
    const IdCounts counts(held.ids, shares.shares(), group.sources, k == group.sources);
    const auto distinct = shares.distinct(static_cast<double>(held.ids * group.sources));
    loads.shares[held.name] = shares.shares();
    for (int j = 0; j < k; ++j) {
      const auto at = static_cast<std::size_t>(held.owners[static_cast<std::size_t>(j)]);
      for (int s = 0; s < group.sources; ++s) loads.cells[static_cast<std::size_t>(s)][at] += counts.sent(s, j);
      loads.lookups[at] += counts.received(j);
      loads.distinct[at] += distinct[static_cast<std::size_t>(j)];
      loads.vectors[at] += bags * group.sources;
    }
  }
  return loads;
}

// Bytes of device memory and on the wire, by the column "shares" of section 2.1; rowwise_adagrad has 4 bytes a row.
Json as_json(const Group& group, const Loads& loads, int copies) {
  constexpr double kIdBytes = 8, kState = 4;
  const double r = group.row_bytes;
  std::vector<double> received, sent, sequence, pooled, update, lookups;
  for (std::size_t at = 0; at < loads.lookups.size(); ++at) {
    const auto c = static_cast<double>(loads.lookups[at]);
    lookups.push_back(c);
    received.push_back(c * kIdBytes);
    sent.push_back(c * group.wire_bytes);
    sequence.push_back(2 * r * c);
    pooled.push_back(r * c + r * loads.vectors[at]);
    update.push_back(r * c + (group.gradient ? r : 2 * r + 2 * kState) * loads.distinct[at]);
  }
  const auto repeated = [&](const std::vector<double>& once) {
    std::vector<double> all;
    for (int copy = 0; copy < copies; ++copy) all.insert(all.end(), once.begin(), once.end());
    return all;
  };
  return {{"group", group.sources},
          {"shares", loads.shares},
          {"ids_cells", loads.cells},
          {"ids_received_bytes", repeated(received)},
          {"lookups", repeated(lookups)},
          {"distinct_rows", repeated(loads.distinct)},
          {"pooled_vectors", repeated(loads.vectors)},
          {"sequence_output_bytes_sent", repeated(sent)},
          {"sequence_lookup_hbm_bytes", repeated(sequence)},
          {"pooled_lookup_hbm_bytes", repeated(pooled)},
          {"update_or_gradient_hbm_bytes", repeated(update)}};
}

std::vector<int> ranks_from(int first, int count) {
  std::vector<int> ranks;
  for (int i = 0; i < count; ++i) ranks.push_back(first + i);
  return ranks;
}

// The placements of "Worked byte counts" in docs/lowering.md: table i of table_row_wise on node i; the left and right
// halves of the columns of grid_shard on the nodes one after the other; flex in one group per node.
Group group_of(const std::string& type, const Group& whole, int ranks_per_node) {
  Group group = whole;
  const int nodes = whole.sources / ranks_per_node;
  if (type == "row_wise") return group;
  if (type == "flex") {
    group.sources = ranks_per_node;
    group.cut = RowCut::hashed;
    group.gradient = true;
    for (Held& held : group.tables) held.owners = ranks_from(0, ranks_per_node);
    return group;
  }
  group.tables.clear();
  if (type == "table_row_wise") {
    for (std::size_t i = 0; i < whole.tables.size(); ++i) {
      group.tables.push_back(whole.tables[i]);
      group.tables.back().owners = ranks_from(static_cast<int>(i) % nodes * ranks_per_node, ranks_per_node);
    }
    return group;
  }
  if (type != "grid_shard") throw std::runtime_error("unknown sharding type " + type);
  group.row_bytes /= nodes;
  group.wire_bytes /= nodes;
  for (const Held& held : whole.tables) {
    for (int node = 0; node < nodes; ++node) {
      group.tables.push_back(held);
      group.tables.back().owners = ranks_from(node * ranks_per_node, ranks_per_node);
    }
  }
  return group;
}

Differences compare_type(const LoadCase& item, const std::string& type, const Json& got) {
  const Json expected = stated(item.expected.at(type));
  const std::vector<std::string> near{"shares", "distinct_rows", "update_or_gradient_hbm_bytes"};
  Differences found = differences(without(expected, near), got, 0);
  for (const std::string& key : near) append(found, differences(only(expected, {key}), got, tolerance_of(item, key)));
  for (std::string& line : found) line = type + " " + line;
  return found;
}

}  // namespace

Differences check_exchange_cells(const LoadCase& item) {
  Fields input(item.input, "input");
  const int sources = static_cast<int>(input.whole("sources"));
  const IdCounts counts(input.whole("ids_per_source"), input.reals("shares"), sources,
                        input.flag("owners_are_the_whole_group", false));
  input.finish();
  std::vector<std::int64_t> totals;
  for (int owner = 0; owner < counts.owners(); ++owner) totals.push_back(counts.received(owner));
  Json got = {{"rule", name_of_rule(counts.rule())},
              {"column_totals", totals},
              {"first_source", sent_by(counts, 0)},
              {"last_source", sent_by(counts, sources - 1)}};
  const Json expected = stated(item.expected);
  if (expected.contains("cells")) {
    got["cells"] = Json::array();
    for (int source = 0; source < sources; ++source) got["cells"].push_back(sent_by(counts, source));
  }
  return differences(expected, got, 0);
}

Differences check_two_tables(const LoadCase& item) {
  Fields input(item.input, "input");
  const std::string cut = input.text("row_cut");
  const double batch = input.real("batch"), row_bytes = 4 * input.real("dim");
  const int ranks = static_cast<int>(input.whole("ranks")), per_node = static_cast<int>(input.whole("ranks_per_node"));
  if (per_node < 1 || ranks < per_node) return {"no node is full"};
  if (input.text("optimizer") != "rowwise_adagrad") return {"only rowwise_adagrad is understood"};
  Group whole{ranks, cut_named(cut.substr(0, cut.find(' '))), row_bytes, row_bytes, false, {}};
  for (const Json& name : input.at("tables")) {
    const auto text = name.get<std::string>();
    const auto ids = static_cast<std::int64_t>(batch * input.real("len" + text) + 0.5);
    whole.tables.push_back({text, static_cast<std::uint64_t>(input.whole("rows" + text)), ids, ranks_from(0, ranks)});
  }
  const RowOrder order = order_named(input.text("row_order"));
  const auto seed = static_cast<std::uint64_t>(input.whole("seed"));
  const Json& access = input.at("access");
  input.ignore({"placements"});
  input.finish();
  Differences found;
  for (const auto& [type, unused] : item.expected.items()) {
    const Group group = group_of(type, whole, per_node);
    append(found, compare_type(item, type,
                               as_json(group, loads_of(group, access, order, seed, batch), ranks / group.sources)));
  }
  return found;
}

}  // namespace shardsim::golden
