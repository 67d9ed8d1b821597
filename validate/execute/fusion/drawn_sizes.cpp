#include "validate/execute/fusion/drawn_sizes.h"

#include <algorithm>
#include <string>

#include "validate/execute/fusion/fusion.h"
#include "validate/execute/fusion/id_streams.h"
#include "validate/execute/fusion/rank_rows.h"

namespace shardsim {
namespace {

using Counts = std::vector<std::vector<std::int64_t>>;  // [source][owner]

class DrawnSizes {
 public:
  DrawnSizes(Program& program, const Fusion& fusion, int batch) : program_(program), fusion_(fusion) {
    for (const std::vector<int>& set : program.groups.at(program.op(fusion.ids).group)) {
      of_sets_.emplace_back();
      for (const int rank : set) of_sets_.back().push_back(drawn_counts(program, fusion, rank, batch));
    }
  }

  // Exchanges from owners back to those who asked have the same sizes the other way round.
  void put() {
    put_matrix(fusion_.ids, false);
    put_matrix(fusion_.output, true);
    if (fusion_.gradient_exchange >= 0) put_matrix(fusion_.gradient_exchange, false);
    for (const Fusion::Part& part : fusion_.parts) {
      put_lookups(part.lookup);
      if (part.gradient >= 0) put_lookups(part.gradient);
    }
  }

 private:
  Op& op(int id) { return program_.ops[static_cast<std::size_t>(id)]; }

  void put_matrix(int id, bool back) {
    ByteMatrix drawn;
    drawn.kind = ByteMatrix::Kind::dense;
    drawn.unit_bytes = resolve_matrix(program_, op(id).matrix).unit_bytes;
    op(id).matrix = {static_cast<int>(program_.matrices.size()), back, of_sets_.size() > 1};
    for (std::size_t set = 0; set < of_sets_.size(); ++set) {
      drawn.dense = of_sets_[set];
      program_.matrices.push_back({"drawn_" + std::to_string(id) + "_" + std::to_string(set), drawn});
    }
  }

  void put_lookups(int id) {
    std::vector<double> lookups;
    for (const int rank : program_.ranks_of(op(id))) lookups.push_back(static_cast<double>(asked_of(rank)));
    op(id).lookups = {lookups};
  }

  std::int64_t asked_of(int rank) const {
    const Seat seat = seat_of(program_, program_.op(fusion_.ids), rank);
    std::int64_t asked = 0;
    for (const auto& of_source : of_sets_[seat.set]) asked += of_source[static_cast<std::size_t>(seat.position)];
    return asked;
  }

  Program& program_;
  const Fusion& fusion_;
  std::vector<Counts> of_sets_;
};

}  // namespace

Program with_drawn_sizes(const Program& program, int batch) {
  Program drawn = program;
  for (const Fusion& fusion : fusions_of(program, {})) {
    if (!fusion.pooled && fusion.ids >= 0 && fusion.output >= 0) DrawnSizes(drawn, fusion, batch).put();
  }
  return drawn;
}

std::vector<Program> with_drawn_sizes_of(const Program& program, int iterations) {
  std::vector<Program> all;
  for (int batch = 0; batch < iterations; ++batch) all.push_back(with_drawn_sizes(program, batch));
  return all;
}

}  // namespace shardsim
