#pragma once

#include "plan/torchrec/search/proposer.h"

namespace shardsim::golden {

// EmbeddingOffloadScaleupProposer as a whole, for tables of which it is known how often their cached rows are missed.
std::unique_ptr<torchrec::Proposer> make_offload_scaleup_proposer(const torchrec::SearchSpace& space,
                                                                  const torchrec::Topology& topology,
                                                                  const torchrec::EstimateSettings& settings);

std::int64_t total_hbm(const torchrec::Proposal& proposal);

}  // namespace shardsim::golden
