#pragma once

#include <memory>
#include <vector>

#include "sim/lower/draws/drawn_batch.h"
#include "sim/lower/group_member.h"

namespace shardsim {

class KnownShares;

// By how much these grow when there are kMoreIds as many lookups.
// `known`: what was found out before; none: nothing.
double growth_by_more(const GroupMember& member, double draws, KnownShares* known);

// The share of a batch's different rows for which a cache has no room beside those of the batches that are in work, of
// `draws` lookups each.
double uncached_share(const GroupMember& member, double draws, bool prefetches);

// [row shard] The share of its lookups that go to rows which a cache of the hottest ones does not hold.
std::vector<double> cold_lookups(const GroupMember& member);

// Different rows that each row shard reads in `lookups` of its own, `all` in all, which `draws` ids of the batches ask
// for, and those that its cache misses; in expectation.
DrawnRows::Rows rows_of_shards(const GroupMember& member, const std::vector<double>& lookups, double all, double draws,
                               bool cached, KnownShares* known = nullptr);

// The rows of a placement in drawn batches. `owners`: shares of its lookups by cell; `draws` of expected batches, of
// all whom it serves.
std::shared_ptr<const DrawnRows> drawn_rows(const GroupMember& member, const std::vector<double>& owners, double draws);

}  // namespace shardsim
