#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/document/cells.h"
#include "study/report/case_groups.h"
#include "study/report/sheets/result_sheets.h"
#include "study/result/case_figures.h"

namespace shardsim {
namespace {

// As memory_profile.h has them.
constexpr std::array<const char*, kMemoryParts> kLabels = {"rows of embedding tables",
                                                           "optimizer states of rows",
                                                           "bookkeeping of caches",
                                                           "dense parameters and their states",
                                                           "ids, lengths, weights of the batch",
                                                           "the same of batches in flight",
                                                           "vectors looked up",
                                                           "vectors of the own batch",
                                                           "gradients of vectors",
                                                           "dense gradients of tables",
                                                           "gradients of the dense part",
                                                           "activations of the dense part"};

std::string mib(double bytes) {
  return grouped_decimals(bytes / kMiB);
}

std::string heading_of(const CaseResult& item) {
  const std::size_t rank = item.memory_profile.fullest();
  const MemoryPeak& peak = item.memory_profile.highest();
  if (peak.op < 0) return fmt::format("{}: rank {}", item.name, rank);
  return fmt::format("{}: rank {} at {} ms, when {} starts", item.name, rank, fixed(peak.at_us * 1e-3, 4),
                     operation_at(item, peak));
}

// Returns the memory model's number for a part; "" where it tells nothing apart. Its buffers are one number.
std::string estimated(const PlacementMemory& estimate, MemoryPart part) {
  if (part == MemoryPart::tables) {
    return mib(estimate.static_bytes - estimate.optimizer_bytes - estimate.cache_bytes);
  }
  if (part == MemoryPart::optimizer) return mib(estimate.optimizer_bytes);
  return part == MemoryPart::cache ? mib(estimate.cache_bytes) : "";
}

void add_memory(Sheet& sheet, const CaseResult& item) {
  const MemoryPeak& peak = item.memory_profile.highest();
  const PlacementMemory& estimate = item.estimated_memory;
  sheet.rows.push_back({{heading_of(item)}, false});
  for (std::size_t part = 0; part < kMemoryParts; ++part) {
    const std::int64_t bytes = peak.amounts.bytes[part];
    const bool cache = static_cast<MemoryPart>(part) == MemoryPart::cache && estimate.cache_bytes > 0;
    if (bytes == 0 && part > 1 && !cache) continue;
    sheet.rows.push_back(
        {{kLabels[part], mib(static_cast<double>(bytes)), estimated(estimate, static_cast<MemoryPart>(part))}, false});
  }
  sheet.rows.push_back({{"buffers, by the memory model", "", mib(estimate.dynamic_bytes)}, false});
  sheet.rows.push_back(
      {{"in all", mib(static_cast<double>(peak.bytes())), mib(estimate.static_bytes + estimate.dynamic_bytes)}, false});
}

// The memory in use on the fullest GPU of a case, in shares of its memory.
struct Fullness {
  double model = 0;                 // by the memory model
  std::optional<double> simulated;  // at the simulated high-water mark
  double most() const { return std::max(model, simulated.value_or(0)); }
};

Fullness fullness_of(const CaseResult& item) {
  const auto capacity = static_cast<double>(item.memory_capacity);
  if (item.memory_per_rank.empty() || capacity <= 0) return {};
  Fullness result{largest_memory(item) / capacity, std::nullopt};
  const MemoryProfile& profile = item.memory_profile;
  if (!profile.ranks.empty()) {
    result.simulated = static_cast<double>(profile.highest().bytes()) / capacity;
  }
  return result;
}

}  // namespace

Section memory_section(const StudyResult& study) {
  Sheet sheet;
  sheet.columns = {{"part", false}, {"simulated MiB"}, {"memory model MiB"}};
  for (const CaseResult& item : study.cases) {
    if (!item.memory_profile.ranks.empty()) add_memory(sheet, item);
  }
  Section section = table_section(
      "Memory at its peak",
      "simulated: the memory that the fullest GPU of each case holds at its simulated peak. memory model: "
      "the memory that the model counts for that GPU. A buffer counts from the start of the operation that "
      "writes it to the end of the last one that reads it.",
      sheet);
  section.folded = has_many_cases(study);
  return section;
}

namespace {

constexpr double kLeastShare = 0.01;  // of a GPU's memory that is worth a number

std::string percent_of(double share) {
  return share > 0 && share < kLeastShare ? "less than 1 %" : fmt::format("{:.0f} %", 100 * share);
}

}  // namespace

std::string memory_sentence(const StudyResult& study) {
  const CaseResult* fullest = nullptr;
  Fullness most;
  for (const CaseResult& item : study.cases) {
    if (!study.comparisons.empty() && !fits(item)) continue;  // which a warning names, and nobody would choose
    const Fullness here = fullness_of(item);
    if (here.most() <= most.most()) continue;
    fullest = &item;
    most = here;
  }
  if (fullest == nullptr) return "";
  if (most.most() < kLeastShare) return " No GPU is filled to 1 %.";
  const std::string simulated = most.simulated ? percent_of(*most.simulated) + " at its simulated peak, " : "";
  const std::string which = study.cases.size() == 1 ? "" : fmt::format(", with {},", fullest->name);
  return fmt::format(" The fullest GPU{} is filled to {}{} by the memory model.", which, simulated,
                     percent_of(most.model));
}

std::string cases_over_at_peak(const StudyResult& study) {
  std::vector<std::string> cases;
  for (const CaseResult& item : study.cases) {
    const Fullness full = fullness_of(item);
    if (full.simulated.value_or(0) <= 1 || !item.buffers_counted) continue;  // a note says it of them all at once
    const double capacity = static_cast<double>(item.memory_capacity) / kGiB;
    cases.push_back(fmt::format("{} ({:.2f} GiB of {:.2f}, which is {:.1f} %; by the memory model {:.1f} %)", item.name,
                                *full.simulated * capacity, capacity, 100 * *full.simulated, 100 * full.model));
  }
  return cases.empty() ? "" : some_names(cases);
}

std::string memory_warning(const StudyResult& study) {
  const std::string cases = cases_over_at_peak(study);
  if (cases.empty()) return "";
  return "WARNING: at its simulated peak a GPU would need more memory than it has, so the run would end with an "
         "out-of-memory error: " +
         cases + ".";
}

}  // namespace shardsim
