#include "study/report/case_groups.h"
#include "study/report/sheets/result_sheets.h"
#include "study/why/why_document.h"

namespace shardsim {
namespace {

constexpr std::size_t kPartsShown = 8;  // of a path

Section case_section(const CaseResult& item) {
  Section section{item.name, {}};
  section.style = Section::Heading::as_it_is;
  section.blocks.emplace_back(Paragraph{item.why->sentence});
  for (const std::string& sentence : item.why->left_out)
    section.blocks.emplace_back(Paragraph{sentence, Paragraph::Role::caption});
  section.blocks.emplace_back(path_sheet(*item.why, kPartsShown));
  return section;
}

}  // namespace

std::string why_sentence_of_fastest(const StudyResult& study) {
  for (const WorkloadCases& group : by_workload(study)) {
    const CaseResult* const best = fastest_that_fits(group);
    if (best == nullptr || !best->why) continue;
    return study.cases.size() == 1 ? best->why->sentence : best->name + ": " + best->why->sentence;
  }
  return "";
}

Section why_section(const StudyResult& study) {
  Section section{"Why", {}};
  NoteList sentences;
  section.folded = has_many_cases(study);
  for (const CaseResult& item : study.cases) {
    if (!item.why) continue;
    if (section.folded) {
      sentences.notes.push_back({item.why->sentence, item.name});
    } else {
      section.blocks.emplace_back(case_section(item));
    }
  }
  if (!sentences.notes.empty()) section.blocks.emplace_back(std::move(sentences));
  if (section.blocks.empty()) return section;
  section.blocks.insert(
      section.blocks.begin(),
      Paragraph{"The critical path of a steady iteration: each operation made the next one start, and their times add "
                "up to the iteration. 'shardsim why' shows more of a single case, and what would make it shorter.",
                Paragraph::Role::caption});
  return section;
}

}  // namespace shardsim
