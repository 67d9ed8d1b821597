#include "validate/execute/buffers/data_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <map>

#include "base/rng.h"
#include "models/access/row_hash.h"
#include "validate/execute/buffers/lookup_buffers.h"
#include "validate/execute/fusion/fusion.h"
#include "validate/execute/fusion/id_streams.h"
#include "validate/execute/fusion/pooled_layout.h"
#include "validate/execute/fusion/rank_rows.h"

namespace shardsim {

// One piece of a shard: its rows, and what the iteration adds up for them. Copies on several ranks are one piece here.
struct ReferencePiece {
  std::int64_t dim = 0;
  std::vector<float> rows, sums;
  std::vector<std::int64_t> reads;  // of each row in this iteration

  float* row(std::int64_t local) { return rows.data() + local * dim; }
};

namespace {

constexpr double kExact = 16777216;     // 2^24: fp32 holds every whole number up to here
constexpr double kLargestGradient = 2;  // of gradient_value
constexpr const char* kWhole =
    "Whole-number checks need tables of fp32, of one dimension per sequence lookup, with updates";

// The pieces of a shard with the rows that they start with.
std::vector<ReferencePiece> pieces_of(const Program& program, const Program::Shard& shard) {
  std::vector<ReferencePiece> pieces(static_cast<std::size_t>(row_shards(shard)));
  for (int position = 0; position < row_shards(shard); ++position) {
    ReferencePiece& piece = pieces[static_cast<std::size_t>(position)];
    piece.dim = shard.columns();
    const auto rows = static_cast<std::size_t>(row_shard_rows(shard, position));
    piece.rows.resize(rows * static_cast<std::size_t>(piece.dim));
    piece.sums.resize(piece.rows.size());
    piece.reads.resize(rows);
  }
  const std::uint64_t key = table_key(program.tables[static_cast<std::size_t>(shard.table)]);
  for (std::uint64_t position = shard.row_begin; position < shard.row_end; ++position) {
    const RowOwner owner = row_owner(program, shard, position);
    ReferencePiece& piece = pieces[static_cast<std::size_t>(owner.shard)];
    float* const row = piece.row(static_cast<std::int64_t>(owner.local_row));
    for (std::int64_t c = 0; c < piece.dim; ++c) row[c] = first_value(key, position, shard.column_begin + c);
  }
  return pieces;
}

}  // namespace

struct Reference::State {
  explicit State(const IterationPrograms& given) {
    for (std::size_t i = 0; i < given.size(); ++i) programs.push_back(given[i]);
    ProgramPlaces places;
    places.program.source = program().scenario;
    fusions = fusions_of(program(), places);
    for (const Fusion& fusion : fusions) check(fusion, places);
    for (const Fusion& fusion : fusions) {
      for (const int shard : fusion.shards) pieces[shard] = pieces_of(program(), program().shard(shard));
    }
  }

  void check(const Fusion& fusion, const ProgramPlaces& places) const {
    const Op& lookup = program().op(fusion.lookup);
    for (const Fusion::Part& part : fusion.parts) {
      if (part.gradient < 0) refuse(places, program().op(part.lookup), "nothing updates its rows", kWhole);
    }
    for (const int index : fusion.shards) {
      const Table& table = program().table_of(index);
      if (table.dtype != Dtype::fp32) {
        refuse(places, lookup, fmt::format("table {} is {}", table.name, dtype_name(table.dtype)), kWhole);
      }
      if (!fusion.pooled && program().shard(index).columns() != program().shard(fusion.shards.front()).columns()) {
        refuse(places, lookup, "its shards have different dimensions", kWhole);
      }
    }
    std::vector<int> moves{fusion.output, fusion.gradient_exchange, fusion.scatter, fusion.gather};
    moves.insert(moves.end(), fusion.reduces.begin(), fusion.reduces.end());
    for (const int id : moves) {
      if (id >= 0 && !program().op(id).dtype.empty() && program().op(id).dtype != "fp32") {
        refuse(places, program().op(id), fmt::format("it moves {}", program().op(id).dtype), kWhole);
      }
    }
    check_reduce(fusion, places);
  }

  void check_reduce(const Fusion& fusion, const ProgramPlaces& places) const {
    if (fusion.reduces.empty()) return;
    const Op& reduce = program().op(fusion.reduces.front());
    for (const int rank : program().ranks_of(program().op(fusion.lookup))) {
      std::int64_t summed = 0;
      for (const int id : fusion.reduces) summed += collective_bytes(program(), program().op(id), rank).in;
      const auto bytes = rank_rows(program(), fusion, rank).elements * static_cast<std::int64_t>(sizeof(float));
      if (bytes <= summed) continue;
      const std::string sums = fusion.reduces.size() > 1 ? "it and those like it sum" : "it sums";
      refuse(places, reduce, fmt::format("{} {} bytes, and the rows of rank {} have {}", sums, summed, rank, bytes),
             kWhole);
    }
  }

  void iterate() {
    const IterationPrograms all{programs};
    const int batch = static_cast<int>(iteration % all.batches());
    turn = all.turn(static_cast<int>(iteration));
    for (const Fusion& fusion : fusions) {
      for (const int rank : program().ranks_of(program().op(fusion.lookup))) {
        fusion.pooled ? read_pooled(fusion, rank, batch) : read(fusion, rank, batch);
      }
    }
    for (auto& [shard, of_shard] : pieces) {
      for (ReferencePiece& piece : of_shard) update(piece);
    }
    ++iteration;
  }

  // Vectors of one rank that belong together, those of a shard or all rows of a sequence, one after the other, and how
  // large their sums can be on the way.
  struct Vectors {
    std::int64_t first = 0;  // number of the first one among the rank's
    std::vector<float> sums;
    std::vector<double> sizes;

    void resize(std::int64_t vectors, std::int64_t dim) {
      sums.resize(static_cast<std::size_t>(vectors * dim));
      sizes.resize(sums.size());
    }
  };

  // Gathers the rows that the rank asks for, and adds their gradients to what their owners will subtract.
  void read(const Fusion& fusion, int rank, int batch) {
    const IdBatch asked = draw_ids(now(), fusion, rank, batch);
    Vectors rows;
    rows.resize(static_cast<std::int64_t>(asked.ids.size()), program().shard(fusion.shards.front()).columns());
    std::int64_t request = 0;
    const std::vector<int> owners = set_of(program(), fusion.ids, rank);
    for (std::size_t owner = 0; owner < asked.counts.size(); ++owner) {
      const RankRows held = rank_rows(program(), fusion, owners[owner]);
      for (std::int64_t i = 0; i < asked.counts[owner]; ++i, ++request) {
        const std::int64_t id = asked.ids[static_cast<std::size_t>(request)];
        const RankRows::Part& part = held.part_of(id);
        take(part, id - part.first_row, rank, fusion.lookup, rows, request);
      }
    }
    gathered[{rank, fusion.lookup}] = std::move(rows.sums);
  }

  std::map<int, Vectors> empty_vectors(const Fusion& fusion) const {
    std::map<int, Vectors> all;
    std::int64_t first = 0;
    for (const int index : fusion.shards) {
      const std::int64_t bags = bags_per_rank(program(), program().table_of(index));
      all[index].first = first;
      all[index].resize(bags, program().shard(index).columns());
      first += bags;
    }
    return all;
  }

  // Sums the rows of each bag of the rank, and adds the bag's gradient to what their owners will subtract.
  void read_pooled(const Fusion& fusion, int rank, int batch) {
    const IdBatch asked = draw_ids(now(), fusion, rank, batch);
    const PartShares shares(now(), fusion);
    const std::vector<int> owners = set_of(program(), fusion.ids, rank);
    const auto own = static_cast<std::size_t>(std::ranges::find(owners, rank) - owners.begin());
    std::map<int, Vectors> vectors = empty_vectors(fusion);
    const std::int64_t* id = asked.ids.data();
    for (std::size_t owner = 0; owner < asked.counts.size(); ++owner) {
      const RankRows held = rank_rows(program(), fusion, owners[owner]);
      const std::vector<std::int64_t> counts = shares.split(held, own, asked.counts[owner]);
      for (std::size_t i = 0; i < counts.size(); ++i) {
        const RankRows::Part& part = held.parts[i];
        std::int64_t bag = 0;
        for (const std::int64_t length : bag_lengths(now(), now().table_of(part.shard), counts[i], part.position,
                                                     row_shards(program().shard(part.shard)))) {
          for (std::int64_t k = 0; k < length; ++k) take(part, *id++, rank, fusion.lookup, vectors.at(part.shard), bag);
          ++bag;
        }
      }
    }
    std::vector<float>& all = gathered[{rank, fusion.lookup}];
    all.clear();
    for (const int shard : fusion.shards) append(vectors.at(shard), all);
  }

  // One row of a part into one of the vectors.
  void take(const RankRows::Part& part, std::int64_t local, int rank, int lookup, Vectors& vectors,
            std::int64_t vector) {
    ReferencePiece& piece = pieces.at(part.shard)[static_cast<std::size_t>(part.position)];
    const float* const row = piece.row(local);
    float* const sums = piece.sums.data() + local * piece.dim;
    const auto first = static_cast<std::size_t>(vector * piece.dim);
    for (std::int64_t c = 0; c < piece.dim; ++c) {
      vectors.sums[first + static_cast<std::size_t>(c)] += row[c];
      vectors.sizes[first + static_cast<std::size_t>(c)] += std::abs(static_cast<double>(row[c]));
      sums[c] += gradient_value(rank, lookup, vectors.first + vector, c);
    }
    ++piece.reads[static_cast<std::size_t>(local)];
  }

  static void append(const Vectors& vectors, std::vector<float>& all) {
    if (std::ranges::any_of(vectors.sizes, [](double size) { return size >= kExact; })) {
      throw run_error("a bag holds so much that fp32 no longer sums its rows exactly",
                      "Check fewer iterations, or a smaller batch.");
    }
    all.insert(all.end(), vectors.sums.begin(), vectors.sums.end());
  }

  static void update(ReferencePiece& piece) {
    for (std::size_t row = 0; row < piece.reads.size(); ++row) {
      const double largest = kLargestGradient * static_cast<double>(piece.reads[row]);
      for (std::int64_t c = 0; c < piece.dim; ++c) {
        const std::size_t at = row * static_cast<std::size_t>(piece.dim) + static_cast<std::size_t>(c);
        if (std::abs(static_cast<double>(piece.rows[at])) + largest >= kExact) {
          throw run_error("a row was read so often that fp32 no longer holds the sum of its gradients exactly",
                          "Check fewer iterations, or a smaller batch.");
        }
        piece.rows[at] -= piece.sums[at];
      }
    }
    std::ranges::fill(piece.sums, 0.0F);
    std::ranges::fill(piece.reads, 0);
  }

  const Program& program() const { return programs.front(); }
  const Program& now() const { return programs[turn]; }

  std::vector<Program> programs;
  std::size_t turn = 0;
  std::vector<Fusion> fusions;
  std::int64_t iteration = 0;
  std::map<int, std::vector<ReferencePiece>> pieces;           // by shard
  std::map<std::pair<int, int>, std::vector<float>> gathered;  // by rank and (first) lookup
};

Reference::Reference(const IterationPrograms& programs) : state_(std::make_shared<State>(programs)) {}

void Reference::iterate(int iterations) {
  for (int i = 0; i < iterations; ++i) state_->iterate();
}

std::vector<float> Reference::gathered(int rank, int lookup_op) const {
  const auto found = state_->gathered.find({rank, lookup_op});
  return found == state_->gathered.end() ? std::vector<float>{} : found->second;
}

std::vector<float> Reference::shard_rows(int rank, int shard) const {
  const auto found = state_->pieces.find(shard);
  if (found == state_->pieces.end()) return {};
  const int position = row_shard_of(state_->program().shard(shard), rank);
  return position < 0 ? std::vector<float>{} : found->second[static_cast<std::size_t>(position)].rows;
}

float first_value(std::uint64_t table_key, std::uint64_t position, std::int64_t column) {
  const std::uint64_t of_row = mix(table_key, (position + 1) * kGolden);
  return static_cast<float>(static_cast<int>(mix(of_row, (static_cast<std::uint64_t>(column) + 1) * kGolden) >> 60) -
                            8);
}

std::uint64_t table_key(const Table& table) {
  return fnv1a(table.name);
}

float gradient_value(int rank, int lookup_op, std::int64_t i, std::int64_t column) {
  const std::uint64_t seat = (static_cast<std::uint64_t>(rank) << 32) + static_cast<std::uint64_t>(lookup_op);
  const std::uint64_t of_row = mix(seat, (static_cast<std::uint64_t>(i) + 1) * kGolden);
  return static_cast<float>(static_cast<int>(mix(of_row, (static_cast<std::uint64_t>(column) + 1) * kGolden) % 5) - 2);
}

std::string first_difference(const std::vector<float>& got, const std::vector<float>& expected, std::int64_t columns,
                             const std::string& what) {
  const std::size_t both = std::min(got.size(), expected.size());
  const auto wide = static_cast<std::size_t>(std::max<std::int64_t>(columns, 1));
  for (std::size_t i = 0; i < both; ++i) {
    if (std::bit_cast<std::uint32_t>(got[i]) == std::bit_cast<std::uint32_t>(expected[i])) continue;
    return fmt::format("{} {}, column {}: {}, not {}", what, i / wide, i % wide, got[i], expected[i]);
  }
  if (got.size() == expected.size()) return "";
  return fmt::format("{}: {} numbers, not {}", what, got.size(), expected.size());
}

}  // namespace shardsim
