#include "validate/execute/fusion/fusion.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"

namespace shardsim {
namespace {

bool is_of_hugectr(const Op& op) {
  return op.indexed || op.in_place || op.sort_bits > 0 || op.role == OpRole::keep_ids || op.role == OpRole::index_rows;
}

// Collects the operations of each fusion group by their roles, and makes sure that they run in an order that gives each
// of them its data.
class FusionReader {
 public:
  FusionReader(const Program& program, const ProgramPlaces& places) : program_(program), places_(places) {}

  std::vector<Fusion> run() {
    for (const Op& op : program_.ops) {
      if (is_of_hugectr(op)) {
        fail(op, "it is a step of HugeCTR's embedding collections, which are simulated and not executed",
             "Lower the workload with embedding_kernels: fused and a pipeline of TorchRec's");
      }
    }
    for (const Op& op : program_.ops) {
      if (op.role != OpRole::accumulate_gradient) continue;
      fail(op,
           "gradients of tables that several batches add up, or of tables that are not sharded, are simulated and "
           "not executed",
           "Lower the case without 'accumulate' and 'sharded', or place its tables otherwise than data_parallel");
    }
    for (const Op& op : program_.ops) {
      if (op.op_class == OpClass::lookup) add(op);
    }
    for (const Op& op : program_.ops) {
      if (op.op_class == OpClass::update && !op.shards.empty() && !updates_.contains(op.id)) {
        fail(op, "no lookup reads the same shards",
             "Give an update the fusion group and the list of shards of its lookup");
      }
    }
    for (const Fusion& fusion : fusions_) check_fusion(program_, places_, fusion);
    return fusions_;
  }

 private:
  // A fusion of its own, or a further lookup of one that is there. Pooled lookups that share their exchanges, or the
  // reduction of their gradients, are executed as one.
  void add(const Op& lookup) {
    if (lookup.fusion < 0) fail(lookup, "it belongs to no fusion group", "Name one in 'fusion', with the role lookup");
    claim_shards(lookup);
    Fusion fusion = group_of(lookup);
    const Fusion::Part part = part_of(lookup);
    const bool shares = fusion.ids >= 0 || !fusion.reduces.empty();
    const auto known = first_.find(lookup.fusion);
    if (known != first_.end() && fusion.ids >= 0 && !fusion.pooled) {
      fail(lookup, "its fusion group of sequences has another lookup, which has the same exchanges",
           "Look the sequences of one fusion group up together");
    }
    check_order(fusion, part);
    if (known != first_.end() && fusion.pooled && shares) {
      Fusion& first = fusions_[known->second];
      first.shards.insert(first.shards.end(), part.shards.begin(), part.shards.end());
      first.parts.push_back(part);
      return;
    }
    first_.emplace(lookup.fusion, fusions_.size());
    fusion.lookup = part.lookup;
    fusion.shards = part.shards;
    fusion.parts = {part};
    fusions_.push_back(fusion);
  }

  void claim_shards(const Op& lookup) {
    if (lookup.shards.empty()) fail(lookup, "it reads no shards", "List them in 'shards'");
    for (const int shard : lookup.shards) {
      if (shards_.insert(shard).second) continue;
      fail(lookup, fmt::format("shard {} is read twice", shard), "Let one lookup read it, once");
    }
  }

  // The operations that all lookups of its group share.
  Fusion group_of(const Op& lookup) const {
    Fusion fusion;
    fusion.pooled = lookup.pooled;
    fusion.ids = only(lookup.fusion, OpRole::exchange_ids);
    fusion.output = only(lookup.fusion, OpRole::exchange_output);
    fusion.gradient_exchange = only(lookup.fusion, OpRole::exchange_gradient);
    fusion.scatter = only(lookup.fusion, OpRole::sum_output);
    fusion.gather = only(lookup.fusion, OpRole::gather_gradient);
    fusion.reduces = ops_in_role(program_, lookup.fusion, OpRole::reduce_gradient);
    fusion.codec = codec_of(lookup, OpRole::encode_output, OpRole::decode_output, fusion.scatter, fusion.output);
    fusion.gradient_codec =
        codec_of(lookup, OpRole::encode_gradient, OpRole::decode_gradient, fusion.gather, fusion.gradient_exchange);
    if (fusion.ids >= 0) fusion.ids_came_before = ids_come_before(at(fusion.ids), lookup);
    return fusion;
  }

  int only(int fusion, OpRole role) const {
    const std::vector<int> ids = ops_in_role(program_, fusion, role);
    if (ids.size() < 2) return ids.empty() ? -1 : ids.front();
    fail(at(ids[1]), fmt::format("it is the second {} of its fusion group", op_role_name(role)),
         "One call carries what all lookups of a fusion group need");
  }

  // The pass in front of what is sent, that between sums and their exchange where there are both, and that behind.
  Fusion::Codec codec_of(const Op& lookup, OpRole encodes, OpRole decodes, int sum, int exchange) const {
    const std::vector<int> into = ops_in_role(program_, lookup.fusion, encodes);
    const int out = only(lookup.fusion, decodes);
    if (into.empty() && out < 0) return {};
    const std::size_t steps = sum >= 0 && exchange >= 0 ? 2 : 1;
    if (into.size() == steps && out >= 0) return {into.front(), steps == 2 ? into[1] : -1, out};
    fail(out >= 0 ? at(out) : at(into.front()), "it is a part of a codec whose other passes are not there",
         "Have a pass in front of each exchange of vectors and one behind the last, or none");
  }

  bool ids_come_before(const Op& ids, const Op& lookup) const {
    if (ids.batches_ahead > lookup.batches_ahead + 1) {
      fail(ids, "it brings ids more than one batch ahead of their lookup",
           "The executor holds those of one batch ahead");
    }
    return ids.batches_ahead > lookup.batches_ahead;
  }

  // The operations that update the rows of a lookup; none in an iteration without a backward pass.
  Fusion::Part part_of(const Op& lookup) {
    Fusion::Part part;
    part.lookup = lookup.id;
    part.shards = lookup.shards;
    const int fused = update_of(lookup, OpRole::update), summed = update_of(lookup, OpRole::sum_gradient);
    part.apply = update_of(lookup, OpRole::apply);
    part.gradient = summed >= 0 ? summed : fused;
    if ((fused >= 0 && summed >= 0) || (part.apply >= 0) != (summed >= 0)) {
      fail(at(std::max({fused, summed, part.apply})), "it is half of an update of its shards",
           "Rows have one fused update, or a sum of their gradients with an apply");
    }
    return part;
  }

  int update_of(const Op& lookup, OpRole role) {
    int found = -1;
    for (const int id : ops_in_role(program_, lookup.fusion, role)) {
      if (at(id).shards != lookup.shards) continue;
      if (found >= 0) fail(at(id), "it updates the same shards as another one", "Update each shard once");
      found = id;
      updates_.insert(id);
    }
    return found;
  }

  // Each operation waits for the one that gives it its data; there are the exchanges that ids and partial sums need,
  // forward and backward, and those that belong together run in the same groups.
  void check_order(const Fusion& fusion, const Fusion::Part& part) const {
    const Op& lookup = at(part.lookup);
    if (fusion.ids_came_before) {
      if (!is_one_of(lookup.after_previous, fusion.ids)) fail_ids(lookup, fusion.ids);
    } else if (fusion.ids >= 0 && !comes_before(fusion.ids, part.lookup)) {
      fail_ids(lookup, fusion.ids);
    }
    const int out = fusion.scatter >= 0 ? fusion.scatter : fusion.output;
    const int in = fusion.gather >= 0 ? fusion.gather : fusion.gradient_exchange;
    follows(part.lookup, out);
    check_codec_order(fusion, part);
    if (fusion.scatter >= 0) follows(fusion.scatter, fusion.output);
    if (fusion.gather >= 0) follows(fusion.gradient_exchange, fusion.gather);
    follows(in, part.gradient);
    for (const int reduce : fusion.reduces) follows(part.gradient, reduce);
    for (const int reduce : fusion.reduces) follows(reduce, part.apply);
    if (fusion.reduces.empty()) follows(part.gradient, part.apply);
    if (fusion.ids < 0) return;
    check_groups(fusion, lookup, part.gradient);
  }

  void check_codec_order(const Fusion& fusion, const Fusion::Part& part) const {
    if (const Fusion::Codec& codec = fusion.codec; codec.any()) {
      chain({part.lookup, codec.encode, fusion.scatter, codec.recode, fusion.output, codec.decode});
    }
    if (const Fusion::Codec& codec = fusion.gradient_codec; codec.any()) {
      chain({codec.encode, fusion.gradient_exchange, codec.recode, fusion.gather, codec.decode, part.gradient});
    }
  }

  // Each waits for the one before it; those that are not there (-1) are left out.
  void chain(const std::vector<int>& ops) const {
    int before = -1;
    for (const int op : ops) {
      follows(before, op);
      if (op >= 0) before = op;
    }
  }

  void check_groups(const Fusion& fusion, const Op& lookup, int gradient) const {
    const bool sums = fusion.scatter >= 0 || fusion.gather >= 0;
    if (!fusion.pooled && sums) fail(lookup, "its fusion group adds up rows of sequences", "Exchange them instead");
    const bool whole = sums || (fusion.output >= 0 && sets(fusion.output) == sets(fusion.ids));
    if (!whole || (fusion.output < 0 && fusion.scatter < 0)) {
      fail(lookup, "other ranks ask for its rows, and nothing returns them",
           fmt::format("Let its fusion group exchange its output on the group {} of its ids",
                       excerpt(at(fusion.ids).group)));
    }
    if (gradient < 0) return;
    if (!way_back(fusion.scatter, fusion.gather) || !way_back(fusion.output, fusion.gradient_exchange)) {
      fail(at(gradient), "nothing brings the gradients of the rows that other ranks asked for",
           "Let its fusion group have an exchange of gradients for each one after the lookup, on the same group");
    }
  }

  bool way_back(int there, int back) const { return there < 0 ? back < 0 : back >= 0 && sets(there) == sets(back); }

  void follows(int first, int then) const {
    if (first < 0 || then < 0) return;
    const bool earlier = at(first).batches_ahead > at(then).batches_ahead;
    if (earlier ? is_one_of(at(then).after_previous, first) : comes_before(first, then)) return;
    fail(at(then), fmt::format("it does not wait for {}, of the same fusion group", op_text(at(first))),
         earlier ? "Name that operation in 'after_previous'" : "Name that operation in 'after'");
  }

  // `then` waits for `first`, or for something that stands behind it on its stream.
  bool comes_before(int first, int then) const {
    std::set<int> seen;
    std::vector<int> open{then};
    while (!open.empty()) {
      const int from = open.back();
      open.pop_back();
      if (from >= first && at(from).stream == at(first).stream) return true;
      for (const int id : at(from).after) {
        if (id >= first && seen.insert(id).second) open.push_back(id);
      }
    }
    return false;
  }

  const Op& at(int id) const { return program_.op(id); }
  const std::vector<std::vector<int>>& sets(int id) const { return program_.groups.at(at(id).group); }

  [[noreturn]] void fail_ids(const Op& lookup, int ids) const {
    fail(lookup, fmt::format("it does not wait for the exchange of its ids, {}", op_text(at(ids))),
         "Name that operation in 'after', or in 'after_previous' when it works a batch ahead");
  }

  [[noreturn]] void fail(const Op& op, const std::string& wrong, const std::string& remedy) const {
    refuse(places_, op, wrong, remedy);
  }

  const Program& program_;
  const ProgramPlaces& places_;
  std::vector<Fusion> fusions_;
  std::map<int, std::size_t> first_;  // of Program::fusions: the first of them here
  std::set<int> updates_, shards_;    // that belong to a lookup
};

}  // namespace

std::vector<Fusion> fusions_of(const Program& program, const ProgramPlaces& places) {
  return FusionReader(program, places).run();
}

}  // namespace shardsim
