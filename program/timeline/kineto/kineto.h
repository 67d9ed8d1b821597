#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "program/timeline/kineto/kineto_trace.h"
#include "program/timeline/timeline.h"

namespace shardsim {

// One rank of a Timeline as a Chrome / Kineto trace that Perfetto opens and Holistic Trace Analysis loads.
// `whole_us` rounds times to whole microseconds (HTA loses up to 2 us per kernel otherwise). A steady iteration that
// overlaps its neighbours is written as the window of one period: kernels of neighbours say so.
std::string kineto_trace(const Timeline& timeline, int rank, const std::string& case_name, bool whole_us);

// FOLDER/rankN.json for every rank (the folder is trace/CASE). Errors: Failure::run naming the path.
void write_kineto_traces(const std::filesystem::path& folder, const Timeline& timeline, const std::string& case_name,
                         bool whole_us);

// An observed Timeline, and the notes that its reader should see.
struct ObservedTraces {
  Timeline timeline;
  std::vector<std::string> notes;
  // Lengths of the steps of a single rank as import takes them (step_windows.h), which may wait at both ends. Empty:
  // steps are as long as their spans.
  std::vector<double> steps_ms = {};
};

// A folder of Kineto traces, one per rank (or one such file), ours or PyTorch's, as an observed Timeline:
// - The rank is distributedInfo.rank, else the number after "rank" in the file's name.
// - ProfilerStep#k is iteration k; a kernel belongs to the step that launched it. Without steps all is one iteration.
//   Iterations that a rank lacks are left out.
// - Kernels of NCCL become collectives, of FBGEMM's embedding tables lookup and update, all others dense
//   (program/timeline/kineto/kineto_names.h), unless operators that launched them say better: EmbeddingBag's updates.
//   Copies and memory sets are dense, on the stream where they run.
// - The bytes of a collective: the larger of elements in and out, times the element's size.
// - Kernels of neighbouring iterations in our own traces are moved back to their iteration, so that the Timeline is the
//   one that was written.
// - Memory is not known. If the clocks of the ranks are further apart than an iteration, they are aligned by the end of
//   the last collective of the first iteration, and a note says so.
// - Traces of others are checked as import does, and of one rank the steps count that count there.
// Errors (Failure::input, naming the file): no trace, one that is cut off, two of one rank, a rank
// outside the world, no kernel in any step, no iteration that all ranks have, those of check_one_rank() and of
// whole_steps().
ObservedTraces read_kineto_traces(const std::filesystem::path& folder);

// The same from traces that are read already.
ObservedTraces timeline_from_traces(std::vector<KinetoTrace> traces, const std::string& source);

}  // namespace shardsim
