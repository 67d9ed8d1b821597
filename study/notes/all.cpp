// Every note on a case: the table says who gives it to whom, and in which order.
#include <array>
#include <iterator>

#include "study/notes/notes.h"

namespace shardsim {

// The files beside this one define these.
NoteMaker accumulated_note, activations_note, allowance_note, averages_note, bandwidths_note, better_plan_note,
    beyond_torchrec_note, cluster_note, collapse_note, compute_model_note, cut_cluster_note, dense_widths_note,
    duplicates_note, even_rows_note, fit_reach_note, fused_sequences_note, host_rows_note, idle_caches_note,
    idle_cluster_keys_note, idle_keys_note, idle_ranks_note, idle_torchrec_keys_note, kernel_fit_note, learned_note,
    learned_reach_note, lengths_note, loads_note, lookups_note, measured_rest_note, memory_need_note, operations_note,
    other_order_note, output_types_note, overhead_fits_note, own_lowering_note, peak_note, published_note,
    relay_fit_note, row_stores_note, slices_note, slower_links_note, sound_cluster_note, steadiness_note,
    traced_dense_note, uncontended_note, unsharded_note, unusual_values_note, workload_note;

namespace {

template <typename... Each>
constexpr unsigned to(Each... askers) {
  return ((1U << static_cast<unsigned>(askers)) | ...);
}

}  // namespace

std::span<const NoteEntry> note_entries() {
  using enum Asker;
  static constexpr auto kNotes = std::to_array<NoteEntry>({
      {"unusual_values", to(run, check, plan, sweep, drift, why), unusual_values_note},
      {"steadiness", to(run), steadiness_note},
      {"averages", to(run), averages_note},
      {"accumulated", to(run), accumulated_note},
      {"unsharded", to(run, plan), unsharded_note},
      {"measured_rest", to(run), measured_rest_note},
      {"traced_dense", to(run, check), traced_dense_note},
      {"beyond_torchrec", to(planned), beyond_torchrec_note},
      {"memory_need", to(planned), memory_need_note},
      {"host_rows", to(planned, run), host_rows_note},
      {"peak", to(run), peak_note},
      {"activations", to(run), activations_note},
      {"collapse", to(run), collapse_note},
      {"uncontended", to(run), uncontended_note},
      {"cluster", to(run, plan, sweep), cluster_note},
      {"cut_cluster", to(run, plan, sweep), cut_cluster_note},
      {"idle_cluster_keys", to(check), idle_cluster_keys_note},
      {"idle_keys", to(run, check, sweep), idle_keys_note},
      {"idle_torchrec_keys", to(run, check), idle_torchrec_keys_note},
      {"fit_reach", to(plan, sweep, drift, why), fit_reach_note},
      {"overhead_fits", to(run), overhead_fits_note},
      {"relay_fit", to(run), relay_fit_note},
      {"kernel_fit", to(run), kernel_fit_note},
      {"allowance", to(run), allowance_note},
      {"compute_model", to(run, check, sweep), compute_model_note},
      {"learned", to(run, check, sweep), learned_note},
      {"learned_reach", to(run, check, sweep), learned_reach_note},
      {"workload", to(check), workload_note},
      {"even_rows", to(run), even_rows_note},
      {"lookups", to(planned), lookups_note},
      {"loads", to(run, check), loads_note},
      {"dense_widths", to(run), dense_widths_note},
      {"slices", to(run), slices_note},
      {"own_lowering", to(run), own_lowering_note},
      {"row_stores", to(planned, run), row_stores_note},
      {"fused_sequences", to(run), fused_sequences_note},
      {"output_types", to(run), output_types_note},
      {"idle_caches", to(run), idle_caches_note},
      {"idle_ranks", to(run), idle_ranks_note},
      {"bandwidths", to(run), bandwidths_note},
      {"lengths", to(run), lengths_note},
      {"published", to(run), published_note},
      {"operations", to(run), operations_note},
      // For these the case, or a part of it, is planned or simulated once more.
      {"sound_cluster", to(run), sound_cluster_note},
      {"slower_links", to(run), slower_links_note},
      {"other_order", to(run), other_order_note},
      {"better_plan", to(run), better_plan_note},
      {"duplicates", to(run), duplicates_note},
  });
  return kNotes;
}

Notes notes_for(Asker asker, const Known& known) {
  Notes notes;
  for (const NoteEntry& entry : note_entries()) {
    if (!entry.is_for(asker)) continue;
    for (std::string& note : entry.make(known))
      if (!note.empty()) notes.push_back(std::move(note));
  }
  return notes;
}

}  // namespace shardsim
