#include "sim/lower/lowering.h"

namespace shardsim {
namespace {

// Adds what the ranks have of `each` of the parts of key-value stores, `times` over.
std::vector<double> sum_of_stored(const std::vector<const LookupPart*>& parts,
                                  std::vector<double> LookupPart::Stored::*each, double times, int world) {
  std::vector<double> sum(static_cast<std::size_t>(world), 0.0);
  for (const LookupPart* const part : parts) {
    const std::vector<double>& of_part = part->stored.*each;
    for (std::size_t rank = 0; rank < sum.size(); ++rank) sum[rank] += times * of_part[of_part.size() == 1 ? 0 : rank];
  }
  return sum;
}

}  // namespace

// Threads of the host look the rows up that the cache in HBM lacks (FBGEMM, EmbeddingKVDB::get_cuda), read them from
// their store and write them to the buffer from which the device copies them.
int Lowering::fetch_stored_rows(Stream on, const std::vector<int>& after) {
  return add_stored("store_fetch", OpRole::fetch_rows, on, after);
}

// The rows whose places those took go back behind the copy, beside all else (EmbeddingKVDB::set_cuda on a stream of its
// own, set_async).
void Lowering::write_stored_rows(int fetch, int prefetch) {
  stores_.emplace_back(fetch, add_stored("store_write", OpRole::write_rows, Stream::store, {prefetch}));
}

int Lowering::add_stored(const char* name, OpRole role, Stream on, const std::vector<int>& after) {
  std::vector<const LookupPart*> parts;
  for (const FusionGroup& group : groups_) {
    if (!takes_turn(group)) continue;
    for (const LookupPart& part : group.parts)
      if (part.store != RowStore::none) parts.push_back(&part);
  }
  if (parts.empty()) return -1;
  const int world = program_.world_size;
  const bool reads = role == OpRole::fetch_rows;
  Op& op = op_at(add(name, {role}, on, after));
  if (reads) op.ssd_reads.values = sum_of_stored(parts, &LookupPart::Stored::ssd_reads, 1, world);
  op.ssd_bytes.values = reads ? sum_of_stored(parts, &LookupPart::Stored::ssd_reads, kStoreBlock, world)
                              : sum_of_stored(parts, &LookupPart::Stored::ssd_bytes, 1, world);
  op.memory_bytes.values = sum_of_stored(parts, &LookupPart::Stored::bytes, 2, world);  // read, and written
  return op.id;
}

// The rows of a batch are in the store before those of the next one are looked for there.
void Lowering::connect_stores() {
  for (const auto& [fetch, write] : stores_) {
    op_at(fetch).after_previous.push_back(write);
    op_at(write).batches_ahead = op_at(fetch).batches_ahead;
  }
}

}  // namespace shardsim
