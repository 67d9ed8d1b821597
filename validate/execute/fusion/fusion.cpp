#include "validate/execute/fusion/fusion.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "validate/execute/fusion/fusion_check.h"
#include "validate/execute/fusion/op_graph.h"

namespace shardsim {
namespace {

bool contains(const std::vector<int>& ids, int id) {
  return std::ranges::find(ids, id) != ids.end();
}

using RankSets = std::vector<std::vector<int>>;

// Every set of `inner` lies in one of `outer`.
bool lies_within(const RankSets& inner, const RankSets& outer) {
  return std::ranges::all_of(inner, [&](const std::vector<int>& set) {
    return std::ranges::any_of(outer, [&](const std::vector<int>& around) {
      return std::ranges::all_of(set, [&](int rank) { return contains(around, rank); });
    });
  });
}

// Every set of `across` has at most one rank of each set of `summed`; where nothing is summed all groups do.
bool crosses(const RankSets& across, const RankSets& summed) {
  for (const std::vector<int>& set : across) {
    for (const std::vector<int>& sum : summed) {
      if (std::ranges::count_if(set, [&](int rank) { return contains(sum, rank); }) > 1) return false;
    }
  }
  return true;
}

// Reads the fusions off the dependencies; every exchange and update belongs to one of them at most.
class FusionFinder {
 public:
  FusionFinder(const Program& program, const ProgramPlaces& places)
      : program_(program), places_(places), graph_(program) {}

  std::vector<Fusion> run() {
    for (const Op& op : program_.ops) {
      if (op.op_class != OpClass::lookup) continue;
      claim_shards(op);
      op.pooled ? add_pooled(op) : fusions_.push_back(find_sequence(op));
    }
    for (const Op& op : program_.ops) {
      if (op.op_class == OpClass::update && !op.shards.empty() && !claimed_.contains(op.id)) {
        fail(op, "no lookup reads the same shards", "Give an update the list of shards of its lookup");
      }
    }
    for (const Fusion& fusion : fusions_) check_fusion(program_, places_, fusion);
    return fusions_;
  }

 private:
  Fusion find_sequence(const Op& lookup) {
    Fusion fusion = find_ids(lookup);
    if (fusion.ids >= 0) {
      fusion.output = take_exchange(graph_.after(OpClass::all_to_all, lookup.id), fusion);
      if (fusion.output < 0) fail_output(lookup);
    }
    const Fusion::Part part = find_updates(lookup);
    fusion.gradient = part.gradient;
    fusion.apply = part.apply;
    if (part.gradient >= 0 && fusion.ids >= 0) {
      fusion.gradient_exchange = take_exchange(graph_.before(OpClass::all_to_all, part.gradient), fusion);
      if (fusion.gradient_exchange < 0) fail_gradient(part.gradient);
    }
    fusion.reduces = find_reduces(part);
    if (fusion.reduces.size() > 1) fusion.reduces.erase(fusion.reduces.begin() + 1, fusion.reduces.end());
    return fusion;
  }

  // A fusion of its own, or a further lookup of one that is there.
  void add_pooled(const Op& lookup) {
    if (Fusion* const shared = sharing_ids(lookup)) return join(*shared, find_updates(lookup));
    Fusion fusion = find_ids(lookup);
    fusion.pooled = true;
    if (fusion.ids >= 0) find_pooled_output(lookup, fusion);
    const Fusion::Part part = find_updates(lookup);
    if (part.gradient >= 0 && fusion.ids >= 0) find_pooled_gradient(part.gradient, fusion);
    fusion.reduces = find_reduces(part);
    if (Fusion* const shared = sharing_reduces(fusion)) return join(*shared, part);
    fusion.gradient = part.gradient;
    fusion.apply = part.apply;
    fusion.parts = {part};
    fusions_.push_back(fusion);
  }

  Fusion* sharing_ids(const Op& lookup) {
    for (Fusion& fusion : fusions_) {
      if (fusion.pooled && fusion.ids >= 0 && at(fusion.lookup).matrix_in == lookup.matrix_in) return &fusion;
    }
    return nullptr;
  }

  Fusion* sharing_reduces(const Fusion& own) {
    for (Fusion& fusion : fusions_) {
      if (fusion.pooled && fusion.ids < 0 && own.ids < 0 && !own.reduces.empty() && fusion.reduces == own.reduces) {
        return &fusion;
      }
    }
    return nullptr;
  }

  // What the exchanges of the fusion are to do for this lookup, too, must be done after it, and before its update.
  void join(Fusion& fusion, const Fusion::Part& part) {
    const auto follows = [&](int first, int then) {
      if (first < 0 || then < 0 || graph_.comes_before(first, then)) return;
      fail(at(then), fmt::format("it does not wait for {}, whose exchanges it shares", op_text(at(first))),
           "Name that operation in 'after'");
    };
    if (!fusion.ids_came_before) follows(fusion.ids, part.lookup);
    follows(part.lookup, fusion.scatter >= 0 ? fusion.scatter : fusion.output);
    follows(fusion.gather >= 0 ? fusion.gather : fusion.gradient_exchange, part.gradient);
    for (const int reduce : fusion.reduces) follows(part.gradient, reduce);
    for (const int reduce : fusion.reduces) follows(reduce, part.apply);
    fusion.shards.insert(fusion.shards.end(), part.shards.begin(), part.shards.end());
    fusion.parts.push_back(part);
  }

  void claim_shards(const Op& lookup) {
    if (lookup.shards.empty()) fail(lookup, "it reads no shards", "List them in 'shards'");
    for (const int shard : lookup.shards) {
      if (shards_.insert(shard).second) continue;
      fail(lookup, fmt::format("shard {} is read twice", shard), "Let one lookup read it, once");
    }
  }

  Fusion find_ids(const Op& lookup) {
    Fusion fusion;
    fusion.lookup = lookup.id;
    fusion.shards = lookup.shards;
    if (lookup.matrix_in.empty()) return fusion;
    for (const Op& op : program_.ops) {
      if (op.op_class != OpClass::all_to_all || op.matrix != lookup.matrix_in || claimed_.contains(op.id)) continue;
      const bool listed_before = contains(lookup.after_previous, op.id);
      const bool same_stream = op.stream == lookup.stream && op.id < lookup.id;
      if (!graph_.ends_before(op.id, lookup.id) && !listed_before && !same_stream) continue;
      fusion.ids = op.id;
      fusion.ids_came_before = listed_before && !graph_.ends_before(op.id, lookup.id);
      claimed_.insert(op.id);
      return fusion;
    }
    fail(lookup, fmt::format("it does not wait for the exchange of its ids, of matrix {}", lookup.matrix_in),
         "Name that operation in 'after', or in 'after_previous' when the previous iteration brings the ids");
  }

  // The nearest one that no other lookup has and whose group will do; -1: none.
  template <typename Fits>
  int take(const std::vector<int>& candidates, const Fits& fits) {
    for (const int id : candidates) {
      if (fits(id) && claimed_.insert(id).second) return id;
    }
    return -1;
  }

  int take_exchange(const std::vector<int>& candidates, const Fusion& fusion) {
    return take(candidates, [&](int id) { return at(id).group == at(fusion.ids).group; });
  }

  const RankSets& sets(int id) const { return program_.groups.at(at(id).group); }

  // Partial sums come only of rows that are cut.
  bool cut(const Fusion& fusion) const { return in_rows(program_.shard(fusion.shards.front()).strategy); }

  // What takes vectors from the ranks that hold the sums to all others.
  auto across(const Fusion& fusion, int summing) const {
    return [this, &fusion, summing](int id) {
      if (!lies_within(sets(id), sets(fusion.ids))) return false;
      return summing < 0 ? sets(id) == sets(fusion.ids) : crosses(sets(id), sets(summing));
    };
  }

  auto within_ids(const Fusion& fusion) const {
    return [this, &fusion](int id) { return lies_within(sets(id), sets(fusion.ids)); };
  }

  // After any of the lookups that share its ids: one stream runs them in order, and the last one may stand for all.
  std::vector<int> after_sharing(OpClass op_class, const Op& lookup) const {
    std::vector<int> all;
    for (const Op& op : program_.ops) {
      if (op.op_class != OpClass::lookup || !op.pooled || op.matrix_in != lookup.matrix_in) continue;
      for (const int id : graph_.after(op_class, op.id)) {
        if (graph_.comes_before(lookup.id, id)) all.push_back(id);
      }
    }
    return all;
  }

  void find_pooled_output(const Op& lookup, Fusion& fusion) {
    if (cut(fusion)) fusion.scatter = take(after_sharing(OpClass::reduce_scatter, lookup), within_ids(fusion));
    if (fusion.scatter >= 0 && sets(fusion.scatter) == sets(fusion.ids)) return;
    fusion.output = take(fusion.scatter >= 0 ? graph_.after(OpClass::all_to_all, fusion.scatter)
                                             : after_sharing(OpClass::all_to_all, lookup),
                         across(fusion, fusion.scatter));
    if (fusion.output < 0) fail_output(lookup);
  }

  void find_pooled_gradient(int gradient, Fusion& fusion) {
    int from = gradient;
    if (fusion.scatter >= 0) {
      fusion.gather =
          take(graph_.before(OpClass::all_gather, gradient), [&](int id) { return sets(id) == sets(fusion.scatter); });
      if (fusion.gather < 0) fail_gradient(gradient);
      from = fusion.gather;
    }
    if (fusion.output < 0) return;
    fusion.gradient_exchange =
        take(graph_.before(OpClass::all_to_all, from), [&](int id) { return sets(id) == sets(fusion.output); });
    if (fusion.gradient_exchange < 0) fail_gradient(gradient);
  }

  Fusion::Part find_updates(const Op& lookup) {
    Fusion::Part part;
    part.lookup = lookup.id;
    part.shards = lookup.shards;
    std::vector<int> updates;
    for (const Op& op : program_.ops) {
      if (op.op_class == OpClass::update && op.shards == lookup.shards) updates.push_back(op.id);
    }
    for (const int id : updates) claimed_.insert(id);
    if (updates.size() > 2) fail(at(updates[2]), "it is the third update of the same shards", "Two are the most");
    if (!updates.empty()) part.gradient = updates[0];  // none: an iteration without a backward pass
    if (updates.size() == 2) part.apply = updates[1];
    return part;
  }

  std::vector<int> find_reduces(const Fusion::Part& part) const {
    std::vector<int> reduces;
    if (part.apply < 0) return reduces;
    for (const int id : graph_.before(OpClass::all_reduce, part.apply)) {
      if (graph_.ends_before(part.gradient, id)) reduces.push_back(id);
    }
    std::ranges::sort(reduces);
    const Op& gradient = at(part.gradient);
    const bool waits = graph_.ends_before(part.gradient, part.apply) || gradient.stream == at(part.apply).stream;
    if (!reduces.empty() || waits) return reduces;
    fail(at(part.apply), fmt::format("it does not wait for {}", op_text(gradient)), "Name that operation in 'after'");
  }

  const Op& at(int id) const { return program_.ops[static_cast<std::size_t>(id)]; }

  [[noreturn]] void fail_output(const Op& lookup) const {
    fail(lookup, "other ranks ask for its rows, and no all_to_all returns them",
         fmt::format("Let an all_to_all on the group of matrix {} come after it", lookup.matrix_in));
  }

  [[noreturn]] void fail_gradient(int gradient) const {
    fail(at(gradient), "nothing brings the gradients of the rows that other ranks asked for",
         "Let it come after an exchange that is the way back of the one after the lookup");
  }

  [[noreturn]] void fail(const Op& op, const std::string& wrong, const std::string& remedy) const {
    throw input_error(op_place(places_, op.id), fmt::format("{}: {}", op_text(op), wrong), remedy);
  }

  const Program& program_;
  const ProgramPlaces& places_;
  OpGraph graph_;
  std::vector<Fusion> fusions_;
  std::set<int> claimed_, shards_;
};

}  // namespace

std::vector<Fusion> fusions_of(const Program& program, const ProgramPlaces& places) {
  return FusionFinder(program, places).run();
}

}  // namespace shardsim
