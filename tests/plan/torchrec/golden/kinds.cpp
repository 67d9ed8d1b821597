#include "tests/plan/torchrec/golden/kinds.h"

namespace shardsim::golden {
namespace {

constexpr Kind kKinds[] = {{"allocate_budget", check_allocate_budget},
                           {"allocate_budget_list", check_allocate_budget_list},
                           {"binary_search", check_binary_search},
                           {"budget_shrink", check_budget_shrink},
                           {"dense_reservation", check_dense_reservation},
                           {"estimate", nullptr, check_estimate},
                           {"imbalance", check_imbalance},
                           {"imbalance_list", check_imbalance_list},
                           {"kernel_bw", nullptr, check_kernel_bw},
                           {"kernel_bw_list", check_kernel_bw_list},
                           {"luus_jaakola", check_luus_jaakola},
                           {"luus_jaakola_list", check_luus_jaakola_list},
                           {"miss_rate", check_miss_rate},
                           {"miss_rate_list", check_miss_rate_list},
                           {"partition", nullptr, check_partition},
                           {"perf_models", check_perf_models},
                           {"pipeline_io", check_pipeline_io},
                           {"plan", nullptr, check_plan},
                           {"planner_outcome", check_planner_outcome},
                           {"propose", check_propose},
                           {"proposer_count", check_proposer_count},
                           {"proposer_sequence", check_proposer_sequence},
                           {"reservation", check_reservation},
                           {"row_wise_buckets", check_row_wise_buckets},
                           {"scaleup", check_scaleup},
                           {"storage_compare", check_storage_compare},
                           {"storage_hash", check_storage_hash},
                           {"storage_specific_sizes", check_storage_specific_sizes},
                           {"topology", check_topology},
                           {"validate_compute_kernels", check_validate_compute_kernels},
                           {"virtual_table_planner", check_virtual_table_planner}};

}  // namespace

std::span<const Kind> kinds() {
  return kKinds;
}

}  // namespace shardsim::golden
