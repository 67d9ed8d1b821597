#include "validate/execute/buffers/data_check.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/rng.h"
#include "models/access/row_hash.h"
#include "validate/execute/buffers/lookup_buffers.h"
#include "validate/execute/buffers/reference_rows.h"
#include "validate/execute/fusion/fusion.h"
#include "validate/execute/fusion/id_streams.h"
#include "validate/execute/fusion/pooled_layout.h"
#include "validate/execute/fusion/rank_rows.h"

namespace shardsim {

namespace {

constexpr double kExact = 16777216;       // 2^24: fp32 holds every whole number up to here
constexpr std::int64_t kBytesOfRow = 40;  // beside its elements: its number, its reads, and room while rows are chosen
constexpr std::int64_t kUntouched = 64;   // rows of each piece that are looked at though nobody may ask for them

// Copies that are trained apart.
int copies_of(const Program::Shard& shard) {
  return averaged(shard) ? static_cast<int>(shard.holders.size()) : 1;
}

// The place of a piece among those of its shard, copy after copy.
std::size_t place_of(const Program::Shard& shard, int copy, int position) {
  return static_cast<std::size_t>((averaged(shard) ? copy : 0) * row_shards(shard) + position);
}

std::vector<ReferencePiece> pieces_of(const Program& program, int index) {
  const Program::Shard& shard = program.shard(index);
  std::vector<ReferencePiece> pieces(static_cast<std::size_t>(copies_of(shard) * row_shards(shard)));
  for (std::size_t at = 0; at < pieces.size(); ++at) {
    const int position = static_cast<int>(at) % row_shards(shard);
    ReferencePiece& piece = pieces[at];
    piece.dim = shard.columns();
    piece.held = row_shard_rows(shard, position);
    piece.key = piece_key(program, index, position);
    piece.first_column = shard.column_begin;
  }
  return pieces;
}

// Every n-th of them, so that what they cost stays within the bytes; 1: all.
std::int64_t stride_for(double cost, double bytes) {
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(cost / std::max(bytes, 1.0))));
}

void make_unique(std::vector<std::int64_t>& numbers) {
  std::ranges::sort(numbers);
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());  // clang 14 knows no ranges::unique
}

}  // namespace

struct Reference::State {
  using Vectors = ReferenceVectors;

  State(const IterationPrograms& given, int rank) : only_rank(rank) {
    for (std::size_t i = 0; i < given.size(); ++i) programs.push_back(given[i]);
    ProgramPlaces places;
    places.program.source = program().scenario;
    fusions = fusions_of(program(), places);
    for (const Fusion& fusion : fusions) check_whole_numbers(program(), fusion, places);
    for (const Fusion& fusion : fusions) {
      for (const int shard : fusion.shards) pieces[shard] = pieces_of(program(), shard);
    }
  }

  void fill() {
    for (auto& [shard, of_shard] : pieces) {
      for (ReferencePiece& piece : of_shard) piece.fill();
    }
  }

  double all_bytes() const {
    double bytes = 0;
    for (const auto& [shard, of_shard] : pieces) {
      for (const ReferencePiece& piece : of_shard) {
        bytes += static_cast<double>(piece.held) * static_cast<double>(8 * piece.dim + kBytesOfRow);
      }
    }
    return bytes;
  }

  // A half of the bytes for the rows of the vectors that the rank gathers last, a half for the rows that it holds.
  void choose(int iterations, double bytes) {
    for (auto& [shard, of_shard] : pieces) {
      for (ReferencePiece& piece : of_shard) piece.chosen.all = false;
    }
    const IterationPrograms all{programs};
    const double share = bytes / 2 / static_cast<double>(std::max<std::size_t>(fusions.size(), 1));
    for (const Fusion& fusion : fusions) {
      turn = all.turn(iterations - 1);
      choose_vectors(fusion, (iterations - 1 + ahead_of(fusion)) % all.batches(), share);
      turn = all.turn(0);
      choose_touched(fusion, share);
      choose_untouched(fusion);
    }
    for (auto& [shard, of_shard] : pieces) {
      join_copies(program().shard(shard), of_shard);
      for (ReferencePiece& piece : of_shard) make_unique(piece.chosen.numbers);
    }
    turn = 0;
  }

  // A mean takes the row of every copy.
  static void join_copies(const Program::Shard& shard, std::vector<ReferencePiece>& of_shard) {
    if (copies_of(shard) == 1) return;
    for (int position = 0; position < row_shards(shard); ++position) {
      std::vector<std::int64_t> all;
      for (int copy = 0; copy < copies_of(shard); ++copy) {
        const std::vector<std::int64_t>& some = of_shard[place_of(shard, copy, position)].chosen.numbers;
        all.insert(all.end(), some.begin(), some.end());
      }
      for (int copy = 0; copy < copies_of(shard); ++copy)
        of_shard[place_of(shard, copy, position)].chosen.numbers = all;
    }
  }

  ReferencePiece& piece_of(const RankRows::Part& part) {
    return pieces.at(part.shard)[place_of(program().shard(part.shard), part.copy, part.position)];
  }

  // The piece of the shard that the rank holds; null: none.
  const ReferencePiece* piece_at(int rank, int index) const {
    const auto found = pieces.find(index);
    const Program::Shard& shard = program().shard(index);
    const int position = row_shard_of(shard, rank);
    if (position < 0 || found == pieces.end()) return nullptr;
    return &found->second[place_of(shard, holders_of(shard, rank), position)];
  }

  // Returns the bytes that a look at one more row costs.
  double row_cost(const Fusion& fusion) const {
    std::int64_t widest = 0;
    for (const int shard : fusion.shards) widest = std::max(widest, program().shard(shard).columns());
    return static_cast<double>(8 * widest + kBytesOfRow);
  }

  void choose_vectors(const Fusion& fusion, int batch, double bytes) {
    std::int64_t ids = 0;
    for (const std::int64_t count : id_counts(now(), fusion, only_rank, false)) ids += count;
    const std::int64_t stride = stride_for(static_cast<double>(ids) * row_cost(fusion), bytes);
    Chosen& vectors = chosen[fusion.lookup];
    vectors.all = false;
    visit_ids(program(), now(), fusion, only_rank, batch,
              [&](const RankRows::Part& part, std::int64_t local, std::int64_t vector) {
                if (vector % stride != 0) return;
                vectors.numbers.push_back(vector);
                piece_of(part).chosen.numbers.push_back(local);
              });
    make_unique(vectors.numbers);
  }

  // Chooses rows that any rank asks this one for in the first iteration, by a hash of the row.
  void choose_touched(const Fusion& fusion, double bytes) {
    std::int64_t ids = 0;
    for (const std::int64_t count : id_counts(now(), fusion, only_rank, true)) ids += count;
    const std::int64_t stride = stride_for(static_cast<double>(ids) * row_cost(fusion), bytes);
    for (const int rank : program().ranks_of(program().op(fusion.lookup))) {
      visit_ids(program(), now(), fusion, rank, 0, [&](const RankRows::Part& part, std::int64_t local, std::int64_t) {
        if (row_shard_of(program().shard(part.shard), only_rank) != part.position) return;
        if (mix(static_cast<std::uint64_t>(local), kGolden) % static_cast<std::uint64_t>(stride) != 0) return;
        piece_of(part).chosen.numbers.push_back(local);
      });
      for (const RankRows::Part& part : rank_rows(program(), fusion, only_rank).parts) {
        make_unique(piece_of(part).chosen.numbers);
      }
    }
  }

  void choose_untouched(const Fusion& fusion) {
    for (const RankRows::Part& part : rank_rows(program(), fusion, only_rank).parts) {
      std::vector<std::int64_t>& rows = piece_of(part).chosen.numbers;
      const std::int64_t step = std::max<std::int64_t>(1, part.rows / kUntouched);
      for (std::int64_t row = 0; row < part.rows; row += step) rows.push_back(row);
    }
  }

  void iterate() {
    const IterationPrograms all{programs};
    const int batch = static_cast<int>(iteration % all.batches());
    turn = all.turn(static_cast<int>(iteration));
    for (const Fusion& fusion : fusions) {
      const int next = (batch + ahead_of(fusion)) % all.batches();
      for (const int rank : program().ranks_of(program().op(fusion.lookup))) {
        read(fusion, rank, next);
        add_gradients(fusion, rank, batch);
      }
    }
    for (auto& [shard, of_shard] : pieces) {
      for (ReferencePiece& piece : of_shard) piece.update(exact);
    }
    average();
    ++iteration;
  }

  // Copies of sharding groups become their mean, exact in fp32 as long as there is room for the fraction.
  void average() {
    const auto found = std::ranges::find(program().ops, OpRole::average_replicas, &Op::role);
    if (found == program().ops.end() || iteration % std::max(found->every, 1) != 0) return;
    int most = 1;
    for (auto& [index, of_shard] : pieces) {
      const Program::Shard& shard = program().shard(index);
      most = std::max(most, copies_of(shard));
      for (int position = 0; position < row_shards(shard) && copies_of(shard) > 1; ++position) {
        average(shard, position, of_shard);
      }
    }
    exact /= most;
  }

  static void average(const Program::Shard& shard, int position, std::vector<ReferencePiece>& of_shard) {
    std::vector<float>& mean = of_shard[place_of(shard, 0, position)].rows;
    const int copies = copies_of(shard);
    for (std::size_t at = 0; at < mean.size(); ++at) {
      for (int copy = 1; copy < copies; ++copy) mean[at] += of_shard[place_of(shard, copy, position)].rows[at];
      mean[at] /= static_cast<float>(copies);
    }
    for (int copy = 1; copy < copies; ++copy) of_shard[place_of(shard, copy, position)].rows = mean;
  }

  // How many batches a pipeline looks up ahead of that which it trains.
  int ahead_of(const Fusion& fusion) const { return program().op(fusion.lookup).batches_ahead; }

  // Sums the rows of the rank's vectors.
  void read(const Fusion& fusion, int rank, int batch) {
    if (only_rank >= 0 && rank != only_rank) return;
    std::map<int, Vectors> vectors = empty_vectors(fusion, rank, batch);
    visit_ids(program(), now(), fusion, rank, batch,
              [&](const RankRows::Part& part, std::int64_t local, std::int64_t vector) {
                const ReferencePiece& piece = piece_of(part);
                const std::int64_t place = piece.place(local);
                if (place >= 0)
                  piece.add_row(place, vectors.at(fusion.pooled ? part.shard : fusion.shards.front()), vector);
              });
    std::vector<float>& all = gathered[{rank, fusion.lookup}];
    std::vector<double>& largest = sizes[{rank, fusion.lookup}];
    all.clear();
    largest.clear();
    for (const auto& [shard, of_shard] : in_order(fusion, vectors)) {
      append(*of_shard, all);
      if (fusion.codec.any()) largest.insert(largest.end(), of_shard->sizes.begin(), of_shard->sizes.end());
    }
  }

  // Adds the gradients of the rank's vectors to what the owners of the rows will subtract.
  void add_gradients(const Fusion& fusion, int rank, int batch) {
    visit_ids(program(), now(), fusion, rank, batch,
              [&](const RankRows::Part& part, std::int64_t local, std::int64_t vector) {
                ReferencePiece& piece = piece_of(part);
                const std::int64_t place = piece.place(local);
                if (place >= 0) piece.add_gradient(place, rank, fusion.lookup, vector);
              });
  }

  // Room for the chosen vectors of a shard, or of a sequence.
  std::map<int, Vectors> empty_vectors(const Fusion& fusion, int rank, int batch) const {
    std::map<int, Vectors> all;
    const Chosen& some = chosen_of(rank, fusion.lookup);
    if (!fusion.pooled) {
      std::int64_t ids = 0;
      for (const std::int64_t count : draw_counts(fusion, rank, batch)) ids += count;
      all[fusion.shards.front()] = Vectors(some, 0, ids, program().shard(fusion.shards.front()).columns());
      return all;
    }
    std::int64_t first = 0;
    for (const int index : fusion.shards) {
      const std::int64_t bags = bags_per_rank(program(), program().table_of(index));
      all[index] = Vectors(some, first, bags, program().shard(index).columns());
      first += bags;
    }
    return all;
  }

  std::vector<std::int64_t> draw_counts(const Fusion& fusion, int rank, int) const {
    return id_counts(now(), fusion, rank, false);
  }

  static std::vector<std::pair<int, const Vectors*>> in_order(const Fusion& fusion,
                                                              const std::map<int, Vectors>& vectors) {
    std::vector<std::pair<int, const Vectors*>> ordered;
    for (const int shard : fusion.shards) {
      const auto found = vectors.find(shard);
      if (found != vectors.end()) ordered.emplace_back(shard, &found->second);
    }
    return ordered;
  }

  const Chosen& chosen_of(int rank, int lookup) const {
    static const Chosen everything;
    const auto found = chosen.find(lookup);
    return rank != only_rank || found == chosen.end() ? everything : found->second;
  }

  void append(const Vectors& vectors, std::vector<float>& all) const {
    if (std::ranges::any_of(vectors.sizes, [this](double size) { return size >= exact; })) {
      throw run_error("a bag holds so much that fp32 no longer sums its rows exactly",
                      "Check fewer iterations, or a smaller batch.");
    }
    all.insert(all.end(), vectors.sums.begin(), vectors.sums.end());
  }

  const Program& program() const { return programs.front(); }
  const Program& now() const { return programs[turn]; }

  double exact = kExact;  // what fp32 holds of numbers with the fractions that there are
  int only_rank = -1;     // whose data are judged; -1: all ranks'
  std::vector<Program> programs;
  std::size_t turn = 0;
  std::vector<Fusion> fusions;
  std::int64_t iteration = 0;
  std::map<int, std::vector<ReferencePiece>> pieces;           // by shard
  std::map<int, Chosen> chosen;                                // by (first) lookup, of only_rank; all where it is not
  std::map<std::pair<int, int>, std::vector<float>> gathered;  // by rank and (first) lookup
  std::map<std::pair<int, int>, std::vector<double>> sizes;    // the same: of what was summed, behind codecs
};

Reference::Reference(const IterationPrograms& programs) : state_(std::make_shared<State>(programs, -1)) {
  state_->fill();
}

Reference::Reference(const IterationPrograms& programs, int rank, int iterations, std::int64_t bytes)
    : state_(std::make_shared<State>(programs, rank)) {
  if (state_->all_bytes() > static_cast<double>(bytes)) state_->choose(iterations, static_cast<double>(bytes));
  state_->fill();
}

const Reference::Chosen& Reference::chosen_vectors(int rank, int lookup_op) const {
  return state_->chosen_of(rank, lookup_op);
}

const Reference::Chosen& Reference::chosen_rows(int rank, int shard) const {
  static const Chosen none;
  const ReferencePiece* const piece = state_->piece_at(rank, shard);
  return piece == nullptr ? none : piece->chosen;
}

void Reference::iterate(int iterations) {
  for (int i = 0; i < iterations; ++i) state_->iterate();
}

std::vector<float> Reference::gathered(int rank, int lookup_op) const {
  const auto found = state_->gathered.find({rank, lookup_op});
  return found == state_->gathered.end() ? std::vector<float>{} : found->second;
}

std::vector<double> Reference::sizes(int rank, int lookup_op) const {
  const auto found = state_->sizes.find({rank, lookup_op});
  return found == state_->sizes.end() ? std::vector<double>{} : found->second;
}

std::vector<float> Reference::shard_rows(int rank, int shard) const {
  const ReferencePiece* const piece = state_->piece_at(rank, shard);
  return piece == nullptr ? std::vector<float>{} : piece->rows;
}

}  // namespace shardsim
