#include "study/confidence/coverage.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "base/statistics.h"
#include "study/confidence/faster.h"

namespace shardsim {
namespace {

constexpr double kTellingRatio = 1.05;  // observed times that differ by less have no order

struct JudgedInterval {
  const Residual* residual;
  double low_ms, high_ms;
  bool holds() const { return residual->observed_ms >= low_ms && residual->observed_ms <= high_ms; }
};

JudgedInterval judged_interval(const ErrorModel& model, const Residual& residual) {
  if (residual.is_iteration()) {
    const Interval interval =
        model.interval(residual.predicted_ms, residual.setting, residual.parts, {}, residual.system);
    return {&residual, interval.low_ms, interval.high_ms};
  }
  const double factor = std::exp(coverage_quantile() * model.classes().scale(residual.error_class, residual.system));
  return {&residual, residual.predicted_ms / factor, residual.predicted_ms * factor};
}

CoverageFigures figures_of(const std::string& kind, const std::vector<JudgedInterval>& judged) {
  CoverageFigures figures{kind};
  std::map<std::string, std::vector<double>> by_system;
  std::vector<double> widths;
  for (const JudgedInterval& each : judged) {
    by_system[each.residual->system].push_back(each.holds() ? 1 : 0);
    widths.push_back(each.high_ms / each.low_ms);
    figures.held += each.holds() ? 1 : 0;
  }
  std::vector<double> shares;
  for (const auto& [system, holds] : by_system) shares.push_back(mean(holds));
  figures.rows = static_cast<int>(judged.size());
  figures.systems = static_cast<int>(by_system.size());
  figures.held /= std::max(1, figures.rows);
  figures.held_by_system = mean(shares);
  figures.width = median(widths);
  return figures;
}

// Runs that are alike in everything that this table knows of them, averaged.
struct RankedRun {
  const Residual* first;
  std::vector<double> predicted, observed;  // logarithms
};

std::vector<RankedRun> ranked_runs(const std::vector<Residual>& residuals) {
  std::vector<RankedRun> runs;
  for (const Residual& residual : residuals) {
    if (residual.fitted || !residual.is_whole()) continue;
    auto alike = std::ranges::find_if(runs, [&](const RankedRun& run) {
      return run.first->error_class == residual.error_class && run.first->setting == residual.setting;
    });
    if (alike == runs.end()) alike = runs.insert(runs.end(), {&residual, {}, {}});
    alike->predicted.push_back(std::log(residual.predicted_ms));
    alike->observed.push_back(std::log(residual.observed_ms));
  }
  return runs;
}

bool comparable(const Residual& a, const Residual& b) {
  const IterationSetting &left = a.setting, &right = b.setting;
  if (a.error_class != b.error_class || left.model != right.model || left.version != right.version) return false;
  const bool same_batch =
      left.batch_per_gpu == right.batch_per_gpu || left.batch_per_gpu * left.gpus == right.batch_per_gpu * right.gpus;
  return same_batch && std::tie(left.plan, left.cluster, left.gpus) != std::tie(right.plan, right.cluster, right.gpus);
}

RankedPair ranked_pair(const ErrorModel& model, const RankedRun& a, const RankedRun& b) {
  RankedPair pair{a.first->name, b.first->name, mean(b.observed) - mean(a.observed),
                  mean(b.predicted) - mean(a.predicted)};
  const auto interval = [&](const RankedRun& run) {
    return model.interval(run.first->predicted_ms, run.first->setting, run.first->parts, {}, run.first->system);
  };
  const double chance =
      difference_of(std::exp(mean(a.predicted)), interval(a), std::exp(mean(b.predicted)), interval(b))
          .first_is_faster_by(std::log(kTellingRatio));
  pair.chance = std::max(chance, 1 - chance);
  return pair;
}

std::vector<RankedPair> ranked_pairs(const ErrorModel& model) {
  const std::vector<RankedRun> runs = ranked_runs(model.residuals());
  std::vector<RankedPair> pairs;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (std::size_t j = i + 1; j < runs.size(); ++j) {
      if (!comparable(*runs[i].first, *runs[j].first)) continue;
      const RankedPair pair = ranked_pair(model, runs[i], runs[j]);
      if (std::abs(pair.observed) > std::log(kTellingRatio)) pairs.push_back(pair);
    }
  }
  return pairs;
}

std::array<ChanceBin, 3> binned(const std::vector<RankedPair>& pairs) {
  std::array<ChanceBin, 3> bins{ChanceBin{0.5, 0.8}, ChanceBin{0.8, 0.95}, ChanceBin{0.95, 1}};
  for (ChanceBin& bin : bins) {
    for (const RankedPair& pair : pairs) {
      if (pair.chance < bin.from || (pair.chance >= bin.upto && bin.upto < 1)) continue;
      ++bin.pairs;
      bin.hits += pair.hit() ? 1 : 0;
      bin.stated += pair.chance;
    }
    bin.stated /= std::max(1, bin.pairs);
  }
  return bins;
}

}  // namespace

Coverage coverage_of(const ErrorModel& model) {
  std::map<std::string, std::vector<JudgedInterval>> kinds;
  for (const Residual& residual : model.residuals()) {
    if (residual.fitted) continue;
    const std::string root = residual.error_class.substr(0, residual.error_class.find('/'));
    const std::string sizeless = sized_class(residual.error_class).kind;
    const std::string reach = sizeless.substr(0, sizeless.find('/', root.size() + 1));
    const JudgedInterval judged = judged_interval(model, residual);
    if (!residual.out_of_model()) kinds[root].push_back(judged);
    if (root.ends_with("collective")) kinds["collective, foreign ones too"].push_back(judged);
    kinds[reach].push_back(judged);
  }
  Coverage coverage;
  for (const auto& [kind, judged] : kinds) coverage.figures.push_back(figures_of(kind, judged));
  coverage.pairs = ranked_pairs(model);
  coverage.bins = binned(coverage.pairs);
  return coverage;
}

}  // namespace shardsim
