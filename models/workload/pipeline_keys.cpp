#include <fmt/format.h>

#include "models/workload/workload_parts.h"

namespace shardsim {
namespace {

constexpr int kMostStages = 16;

// TorchRec's own names are aliases of the short ones.
void pipeline_word(Fields& map, std::string& pipeline) {
  map.choose(
      "pipeline", pipeline,
      {"none", "base", "sparse_dist", "fused_sparse_dist", "prefetch_sparse_dist", "semi_sync", "staged", "train_base",
       "train_sparse_dist", "train_fused_sparse_dist", "train_prefetch_sparse_dist", "prefetch_train_sparse_dist",
       "train_semi_sync", "hugectr"},
      "when the ids of the next batch are exchanged ([lowering.md](../lowering.md#pipelines)). TorchRec's "
      "names with `train_` mean the same as those without. `base` copies the next batch and does all else "
      "in line; `semi_sync` looks the next batch up before this one's update; `fused_sparse_dist` looks a batch up "
      "beside the dense optimizer of the one before; `staged` has the stages of `stages`; all four need a full "
      "exchange. "
      "`hugectr` works as in [HugeCTR's embedding collections](../lowering.md#hugectr) and needs pooled "
      "tables and a full exchange");
  for (const char* const name : {"base", "sparse_dist", "fused_sparse_dist", "semi_sync"})
    if (pipeline == fmt::format("train_{}", name)) pipeline = name;
  if (pipeline.starts_with("train_prefetch") || pipeline.starts_with("prefetch_train"))
    pipeline = "prefetch_sparse_dist";
}

void fused_keys(Fields& map, LookupLaunch& fused) {
  map.choose(
      "stream", fused.stream, {"data_dist", "new", "current"},
      "the stream of lookups, and of their backward pass (`emb_lookup_stream`): that of the exchange of ids, one "
      "of its own, or that of the dense part");
  map.take("after_input_dist", fused.after_input_dist,
           "the host launches lookups behind the permute and the splits of the next batch "
           "(`embedding_lookup_after_data_dist`); else before them");
}

void stage_keys(Fields& map, PipelineStage& stage) {
  map.need("does", stage.does, word_leaf({"copy", "transform", "input_dist", "prefetch"}),
           "`copy` of a batch to the device, a `transform` of it, the start of its exchange of ids (`input_dist`), or "
           "the `prefetch` of rows into caches");
  map.usual("0").take("bytes", stage.bytes, "that the kernels of a `transform` read and write in device memory");
  map.refuse_if(stage.bytes.count > 0 && stage.does != "transform", "bytes", "only a transform has bytes of its own",
                "Leave 'bytes' out, or write does: transform");
}

bool are_in_order(const std::vector<PipelineStage>& stages) {
  const std::size_t last = stages.size() - (stages.back().does == "prefetch" ? 1 : 0);
  for (std::size_t stage = 0; stage < last; ++stage) {
    const std::string wanted = stage == 0 ? "copy" : stage + 1 == last ? "input_dist" : "transform";
    if (stages[stage].does != wanted) return false;
  }
  return last >= 2;
}

}  // namespace

void pipeline_keys(Fields& map, Workload& workload) {
  pipeline_word(map, workload.pipeline);
  map.map("fused_lookup", "where and when `pipeline: fused_sparse_dist` looks rows up",
          [&](Fields& inside) { fused_keys(inside, workload.fused_lookup); });
  if (!workload.fused_sparse_dist())
    map.refuse("fused_lookup", "only the pipeline fused_sparse_dist has a fused lookup",
               "Leave 'fused_lookup' out, or write pipeline: fused_sparse_dist");
  map.list("stages", workload.stages, Bounds::from(2).to(kMostStages),
           "the stages of `pipeline: staged` (TorchRec's `StagedTrainPipeline`), the newest batch first, each on a "
           "stream of its own: a copy, any number of transforms, the exchange of ids, and perhaps a prefetch; by "
           "default a copy and the exchange of ids",
           stage_keys);
  if (!workload.staged())
    map.refuse("stages", "only the pipeline staged has stages to choose",
               "Leave 'stages' out, or write pipeline: staged");
  map.refuse_if(!workload.stages.empty() && !are_in_order(workload.stages), "stages",
                "the stages are not in an order in which a batch can pass them",
                "Write copy, any number of transform, input_dist, and behind it prefetch or nothing");
  if (workload.staged() && workload.stages.empty()) workload.stages = {{"copy", {}}, {"input_dist", {}}};
}

}  // namespace shardsim
