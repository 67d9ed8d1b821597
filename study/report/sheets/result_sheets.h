#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/document/document.h"
#include "study/result/result.h"

namespace shardsim {

// The tables and sentences of a result, the same on a terminal and in the report.
// A table has no rows, and a section no blocks, where there is nothing to tell. A legend says what columns mean.

// Under a heading per workload. If there are very many cases, a terminal shows their names whole and fewer figures of
// each.
Sheet cases_sheet(const StudyResult& study, Medium medium);
std::string cases_legend(const StudyResult& study, Medium medium);
// " 3.5 GiB of each GPU are reserved ..."; "" where nothing is.
std::string reserve_text(const StudyResult& study);
Section jobs_section(const StudyResult& study);  // under a heading per fabric
// The work of the hosts, where cases state software, in the order of the tables; of many cases those that wait, the
// worst first, of which a terminal shows some.
Section host_section(const StudyResult& study, Medium medium);
// Says why the fastest case takes what it takes, with its name where there are several; "" where no path is known.
std::string why_sentence_of_fastest(const StudyResult& study);
// Says for each case with a known path why it takes what it takes; of many cases in a sentence each. For a page.
Section why_section(const StudyResult& study);
// The spread of the iterations of drawn batches, under a heading per case. A page says it of each collective, too.
Section drawn_section(const StudyResult& study, Medium medium);
// Under a heading per case. Below, for collectives of whose exposed time a large part is waiting, the rank that they
// wait for.
Section collectives_section(const StudyResult& study, Medium medium);

// The operators of PyTorch's dense part, of the fastest cases where there are many; no rows where no case has any.
Section dense_operators_section(const StudyResult& study);
Section operator_classes_section(const StudyResult& study);
bool has_dense_operators(const StudyResult& study);
// "14.6 of 17.6 ms exposed is waiting for rank 3, update_history".
std::string waiting_text(const NamedTime& time, int places);
Section published_section(const StudyResult& study, Medium medium);  // under a heading per case

// The ranks that look up equally many rows, for each case whose ranks are too many to draw each. For a page.
Section load_classes_section(const StudyResult& study);

// Per case, what the fullest GPU holds at its high-water mark, part by part, beside the memory model's figures for it.
Section memory_section(const StudyResult& study);

// The answer in a few sentences: the fastest plan of each workload, by how much, what limits it, and whether it fits;
// of published iterations first how far off the predictions are.
std::string summary_text(const StudyResult& study);

// " The fullest GPU, with a, is filled to 93 % ..."; "" where nothing is known of memory.
std::string memory_sentence(const StudyResult& study);
// Says which cases hold more at their simulated peak than a GPU has, though the memory model lets them pass; "" when
// none does, or their models are asked for no buffers.
std::string memory_warning(const StudyResult& study);
// Those cases, with what they need: "a (85.4 GiB of 76.2, ...) and b (...)"; "": none.
std::string cases_over_at_peak(const StudyResult& study);

// That TorchRec cannot run the fastest plans, what of them it does not have, and the remedy; "" where it can.
std::string torchrec_warning(const StudyResult& study);
// Where the fastest case of a workload has the slower hardware: "slow is 2.2 % faster than base, although ..."; else
// "".
std::string slower_hardware_warning(const StudyResult& study);
// The same in a line or two, for a first screen.
std::string short_torchrec_warning(const StudyResult& study);

// Median and worst error of the published times that nothing was fitted to; "" when
// there is none.
std::string accuracy_text(const StudyResult& study);

// Every note once, with the cases that it holds for, in the order they come up.
std::vector<std::pair<std::string, std::vector<std::string>>> notes_by_text(const StudyResult& study);

// TorchRec's estimates beside the simulation: correlation and regret of one group, in a sentence or two.
std::string cross_check_text(const CrossCheck& check, const StudyResult& study);

// Says which terms would bring the orders together; "" when they are alike.
std::string missing_text(const CrossCheck& check);

// The plans whose places differ most: estimate and simulation with their places, and the largest missing term.
Sheet worst_sheet(const StudyResult& study);
std::string worst_legend();

// Their effects in ms, what the plans that they changed places with have of each below them, and all plans on average
// with the correlation that knowing the effect would give.
Section effects_section(const StudyResult& study);

// % of the iteration in which the rank that waits longest waits for its host. The case has a host.
double waiting_percent(const CaseResult& item);
// True where the host of an eager software holds up so much of an iteration that another software is worth advice.
bool waits_for_eager_host(const CaseResult& item);

// Names software and options that would shorten the fastest iteration by a tenth and more, which no other machine and
// no other plan shows, or would make another plan the fastest: `index_dedup`, and a CUDA graph. For a first screen; ""
// where there is nothing.
std::string levers_text(const StudyResult& study);
// That TorchRec's modules make the fastest case's iteration longer by a telling part than it is shown; "" where they
// do not.
std::string modules_warning(const StudyResult& study);

}  // namespace shardsim
