#pragma once

#include <string>
#include <vector>

#include "base/tree/json_fields.h"
#include "models/workload/workload.h"

namespace shardsim {

// Words of enums, as workload files and Program files have them.
std::vector<std::string> words_of(TableKind);
std::vector<std::string> words_of(RowOrder);
std::vector<std::string> words_of(BagIds);
std::vector<std::string> words_of(Dtype);

// The fields of a table that describe its lookups, under the keys of workload files (docs/formats/workload.md, A
// table): kind, pooling, features, average_length, length_distribution, row_order, bag_ids, index_dedup, access and
// runtime. All but kind and access are written only where they differ from the default. The one list of these keys for
// whatever holds tables as JSON. Reading refuses laws that are none.
void table_law_fields(JsonReader& map, Table& table);
void table_law_fields(JsonWriter& map, Table& table);

// The average length that follows from the pooling factors, or from probabilities that are absolute; 0 where neither
// says it.
double stated_length(const Table& table);

// Whole amounts are written without a point, as a person would.
void set_amount(JsonSlot to, double amount);

}  // namespace shardsim
