#include "models/load/load_options.h"

#include <fmt/format.h>

namespace shardsim {
namespace {

constexpr std::int64_t kLeastIterations = 2;  // fewer have no spread
constexpr std::int64_t kMostIterations = 10'000;

void check_drawn(MapReader& reader, const LoadOptions& options) {
  if (options.drawn()) return;
  for (const char* key : {"iterations", "seed"}) {
    if (reader.has(key))
      throw input_error(reader.place_of(key), fmt::format("'{}' has no effect, because batches are not drawn", key),
                        "Write batches: drawn, or leave it out");
  }
}

// Even shares are the same wherever rows lie; and where a placement is known, none is drawn.
void check_placement(MapReader& reader, const LoadOptions& options) {
  for (const char* key : {"placement", "draw"}) {
    if (reader.has(key) && options.row_shares == LoadOptions::RowShares::even)
      throw input_error(reader.place_of(key), fmt::format("'{}' has no effect, because row_shares is even", key),
                        "Leave one of them out");
  }
  if (options.placement && options.draw)
    throw input_error(reader.place_of(reader.has("draw") ? "draw" : "placement"),
                      "'draw' has no effect, because 'placement' says where all rows lie", "Leave one of them out");
}

}  // namespace

LoadOptions read_load_options(MapReader reader, const LoadOptions& before) {
  using Options = LoadOptions;
  note_part(reader.tree(), "load");
  Options options = before;
  const auto chosen = [&](const char* key, const char* first, const char* second, bool is_second) {
    return reader.choice(key, {first, second}, is_second ? second : first) == second;
  };
  const bool even = chosen("row_shares", "real", "even", before.row_shares == Options::RowShares::even);
  options.row_shares = even ? Options::RowShares::even : Options::RowShares::real;
  options.row_cut =
      chosen("row_cut", "blocks", "modulo", before.row_cut == RowCut::modulo) ? RowCut::modulo : RowCut::blocks;
  const bool drawn = chosen("batches", "expected", "drawn", before.drawn());
  options.batches = drawn ? Options::Batches::drawn : Options::Batches::expected;
  options.iterations =
      reader.count("iterations", Bounds::from(kLeastIterations).to(kMostIterations), before.iterations);
  options.seed =
      static_cast<std::uint64_t>(reader.count("seed", Bounds::from(0), static_cast<std::int64_t>(before.seed)));
  if (reader.has("placement"))
    options.placement = static_cast<std::uint64_t>(reader.count("placement", Bounds::from(0)));
  if (reader.has("draw")) options.draw = static_cast<int>(reader.count("draw", Bounds::from(1).to(kRowDraws)));
  check_drawn(reader, options);
  check_placement(reader, options);
  reader.finish();
  return options;
}

}  // namespace shardsim
