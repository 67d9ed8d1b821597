#pragma once

#include <memory>

#include "plan/planner.h"

namespace shardsim {

// One maker per file of this folder; the table in all.cpp lists them. Each reads its own options but `name`.
std::unique_ptr<Planner> make_column_wise(MapReader& options);
std::unique_ptr<Planner> make_data_parallel(MapReader& options);
std::unique_ptr<Planner> make_flex(MapReader& options);
std::unique_ptr<Planner> make_flexshard_2tier(MapReader& options);
std::unique_ptr<Planner> make_flexshard_3tier(MapReader& options);
std::unique_ptr<Planner> make_grid_shard(MapReader& options);
std::unique_ptr<Planner> make_memory_balanced(MapReader& options);
std::unique_ptr<Planner> make_random(MapReader& options);
std::unique_ptr<Planner> make_row_wise(MapReader& options);
std::unique_ptr<Planner> make_table_column_wise(MapReader& options);
std::unique_ptr<Planner> make_table_row_wise(MapReader& options);
std::unique_ptr<Planner> make_table_wise(MapReader& options);
std::unique_ptr<Planner> make_torchrec(MapReader& options);

}  // namespace shardsim
