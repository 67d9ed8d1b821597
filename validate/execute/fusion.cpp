#include "validate/execute/fusion.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "validate/execute/fusion_check.h"

namespace shardsim {
namespace {

bool contains(const std::vector<int>& ids, int id) {
  return std::ranges::find(ids, id) != ids.end();
}

// Reads the fusions off the dependencies; every exchange and update belongs to one of them at most.
class FusionFinder {
 public:
  FusionFinder(const Program& program, const ProgramPlaces& places) : program_(program), places_(places) {
    followers_.resize(program.ops.size());
    for (const Op& op : program.ops) {
      for (const int id : op.after) followers_[static_cast<std::size_t>(id)].push_back(op.id);
    }
  }

  std::vector<Fusion> run() {
    std::vector<Fusion> fusions;
    for (const Op& op : program_.ops) {
      if (op.op_class == OpClass::lookup) fusions.push_back(find(op));
    }
    for (const Op& op : program_.ops) {
      if (op.op_class == OpClass::update && !op.shards.empty() && !claimed_.contains(op.id)) {
        fail(op, "no lookup reads the same shards", "Give an update the list of shards of its lookup");
      }
    }
    for (const Fusion& fusion : fusions) check_fusion(program_, places_, fusion);
    return fusions;
  }

 private:
  Fusion find(const Op& lookup) {
    if (lookup.pooled) fail(lookup, "it is pooled", "This version executes sequence lookups only");
    Fusion fusion;
    fusion.lookup = lookup.id;
    fusion.shards = lookup.shards;
    claim_shards(lookup);
    find_ids(lookup, fusion);
    if (fusion.ids >= 0) fusion.output = find_output(lookup, fusion);
    find_updates(lookup, fusion);
    return fusion;
  }

  void claim_shards(const Op& lookup) {
    if (lookup.shards.empty()) fail(lookup, "it reads no shards", "List them in 'shards'");
    for (const int shard : lookup.shards) {
      if (shards_.insert(shard).second) continue;
      fail(lookup, fmt::format("shard {} is read twice", shard), "Let one lookup read it, once");
    }
  }

  void find_ids(const Op& lookup, Fusion& fusion) {
    if (lookup.matrix_in.empty()) return;
    for (const Op& op : program_.ops) {
      if (op.op_class != OpClass::all_to_all || op.matrix != lookup.matrix_in || claimed_.contains(op.id)) continue;
      const bool listed_before = contains(lookup.after_previous, op.id);
      const bool same_stream = op.stream == lookup.stream && op.id < lookup.id;
      if (!ends_before(op.id, lookup.id) && !listed_before && !same_stream) continue;
      fusion.ids = op.id;
      fusion.ids_came_before = listed_before && !ends_before(op.id, lookup.id);
      claimed_.insert(op.id);
      return;
    }
    fail(lookup, fmt::format("it does not wait for the exchange of its ids, of matrix {}", lookup.matrix_in),
         "Name that operation in 'after', or in 'after_previous' when the previous iteration brings the ids");
  }

  // Over any operations, inside one iteration.
  bool ends_before(int first, int then) const {
    std::set<int> seen;
    std::vector<int> open{then};
    while (!open.empty()) {
      const int at = open.back();
      open.pop_back();
      if (at == first) return true;
      for (const int id : program_.ops[static_cast<std::size_t>(at)].after) {
        if (id >= first && seen.insert(id).second) open.push_back(id);
      }
    }
    return false;
  }

  // Collectives of a class around an operation, through compute operations only, nearest first.
  template <typename Neighbours>
  std::vector<int> nearest(OpClass op_class, int from, Neighbours neighbours) const {
    std::vector<int> found, level{from};
    std::set<int> seen{from};
    while (!level.empty()) {
      std::vector<int> next;
      for (const int at : level) {
        for (const int id : neighbours(at)) {
          if (!seen.insert(id).second) continue;
          const Op& op = program_.ops[static_cast<std::size_t>(id)];
          if (op.op_class == op_class) found.push_back(id);
          if (!op.is_collective() && op.op_class != OpClass::lookup) next.push_back(id);
        }
      }
      std::ranges::sort(next);
      level = std::move(next);
    }
    return found;
  }

  std::vector<int> collectives_before(OpClass op_class, int from) const {
    return nearest(op_class, from, [this](int id) { return program_.ops[static_cast<std::size_t>(id)].after; });
  }

  // The nearest exchange on the group of the ids that no other lookup has; -1: none.
  int take_exchange(const std::vector<int>& candidates, const Fusion& fusion) {
    const std::string& group = program_.ops[static_cast<std::size_t>(fusion.ids)].group;
    for (const int id : candidates) {
      if (program_.ops[static_cast<std::size_t>(id)].group == group && claimed_.insert(id).second) return id;
    }
    return -1;
  }

  int find_output(const Op& lookup, const Fusion& fusion) {
    const auto after = [this](int id) { return followers_[static_cast<std::size_t>(id)]; };
    const int output = take_exchange(nearest(OpClass::all_to_all, lookup.id, after), fusion);
    if (output < 0) {
      fail(lookup, "other ranks ask for its rows, and no all_to_all returns them",
           fmt::format("Let an all_to_all on the group of matrix {} come after it", lookup.matrix_in));
    }
    return output;
  }

  void find_updates(const Op& lookup, Fusion& fusion) {
    std::vector<int> updates;
    for (const Op& op : program_.ops) {
      if (op.op_class == OpClass::update && op.shards == lookup.shards) updates.push_back(op.id);
    }
    if (updates.empty()) return;  // an iteration without a backward pass
    for (const int id : updates) claimed_.insert(id);
    if (updates.size() > 2) fail(at(updates[2]), "it is the third update of the same shards", "Two are the most");
    fusion.gradient = updates[0];
    if (updates.size() == 2) fusion.apply = updates[1];
    if (fusion.ids >= 0) find_gradient_exchange(fusion);
    if (fusion.apply >= 0) find_reduce(fusion);
  }

  void find_gradient_exchange(Fusion& fusion) {
    fusion.gradient_exchange = take_exchange(collectives_before(OpClass::all_to_all, fusion.gradient), fusion);
    if (fusion.gradient_exchange >= 0) return;
    fail(at(fusion.gradient), "nothing brings the gradients of the rows that other ranks asked for",
         "Let it come after an all_to_all on the group that brought the ids");
  }

  void find_reduce(Fusion& fusion) const {
    for (const int id : collectives_before(OpClass::all_reduce, fusion.apply)) {
      if (ends_before(fusion.gradient, id)) {
        fusion.reduce = id;
        return;
      }
    }
    if (ends_before(fusion.gradient, fusion.apply)) return;
    const Op& gradient = at(fusion.gradient);
    if (gradient.stream == at(fusion.apply).stream) return;
    fail(at(fusion.apply), fmt::format("it does not wait for {}", op_text(gradient)), "Name that operation in 'after'");
  }

  const Op& at(int id) const { return program_.ops[static_cast<std::size_t>(id)]; }

  [[noreturn]] void fail(const Op& op, const std::string& wrong, const std::string& remedy) const {
    throw input_error(op_place(places_, op.id), fmt::format("{}: {}", op_text(op), wrong), remedy);
  }

  const Program& program_;
  const ProgramPlaces& places_;
  std::vector<std::vector<int>> followers_;
  std::set<int> claimed_, shards_;
};

}  // namespace

std::vector<Fusion> fusions_of(const Program& program, const ProgramPlaces& places) {
  return FusionFinder(program, places).run();
}

}  // namespace shardsim
