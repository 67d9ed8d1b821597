#include "study/confidence/interval.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/statistics.h"
#include "base/text.h"

namespace shardsim {
namespace {

// The rest that the parts of a system's iterations leave: its errors are wider than they alone would be.
ClassErrors rests_of(const std::vector<Residual>& residuals, const auto& composed) {
  struct Of {
    double sizes = 0, squares = 0;
    int rows = 0;
  };
  std::map<std::string, std::map<std::string, Of>> systems;
  for (const Residual& residual : residuals) {
    if (residual.fitted || !residual.is_iteration()) continue;
    const double parts = composed(residual.parts);
    for (const std::string& each : {std::string("iteration"), residual.error_class}) {
      Of& of = systems[each][residual.system];
      of.sizes += std::abs(residual.error());
      of.squares += parts * parts;
      ++of.rows;
    }
  }
  std::map<std::string, std::map<std::string, double>> rests;
  for (const auto& [error_class, of_class] : systems) {
    for (const auto& [system, of] : of_class) {
      const double size = of.sizes / of.rows;
      rests[error_class][system] = std::sqrt(std::max(0.0, size * size - of.squares / of.rows));
    }
  }
  return ClassErrors(std::move(rests));
}

// The parts of one class as one, in the order they come up.
std::vector<IterationPart> by_class(const std::vector<IterationPart>& parts) {
  std::vector<IterationPart> joined;
  for (const IterationPart& part : parts) {
    const auto alike = std::ranges::find(joined, part.error_class, &IterationPart::error_class);
    if (alike == joined.end()) {
      joined.push_back(part);
    } else {
      // Errors of one class go together: its scale is the mean over its time.
      const double share = alike->ms + part.ms > 0 ? part.ms / (alike->ms + part.ms) : 0;
      const auto mean_of = [share](const std::optional<double>& one, const std::optional<double>& other) {
        return one && other ? std::optional((1 - share) * *one + share * *other) : std::nullopt;
      };
      alike->ms += part.ms;
      alike->beneath_ms += part.beneath_ms;
      alike->guessed = alike->guessed || part.guessed;
      alike->own_measured = mean_of(alike->own_measured, part.own_measured);
      alike->own_scale = mean_of(alike->own_scale, part.own_scale);
    }
  }
  return joined;
}

// ", and for all_reduce of what the calibration of 'my_cluster' left out"; nets have classes of their own.
std::string calibrated_words(const std::vector<IterationPart>& parts, const std::string& cluster) {
  std::vector<std::string> kinds, learned;
  for (const IterationPart& part : by_class(parts)) {
    const std::string kind = part.error_class.substr(part.error_class.rfind('/') + 1);
    std::vector<std::string>& of = part.error_class.starts_with("nets/") ? learned : kinds;
    if (part.own_scale && std::ranges::find(of, kind) == of.end()) of.push_back(kind);
  }
  std::string words;
  if (!kinds.empty())
    words += fmt::format(", and for {} of what the calibration of '{}' left out", join(kinds), cluster);
  if (!learned.empty()) words += fmt::format(", and for {} of what the training of the nets held back", join(learned));
  return words;
}

// The published iterations that say how far whole iterations are off: those to which nothing was fitted.
struct Judges {
  std::size_t rows = 0, of_left_out = 0;
  std::vector<std::string> systems;  // in the order of the table; of one software, their clusters
};

// `error_class`: of one software; "": of all.
Judges judges_of(const std::vector<Residual>& residuals, const std::string& error_class, const std::string& left_out) {
  Judges judges;
  for (const Residual& residual : residuals) {
    if (residual.fitted || !residual.is_iteration()) continue;
    if (!error_class.empty() && residual.error_class != error_class) continue;
    if (residual.system == left_out) {
      ++judges.of_left_out;
      continue;
    }
    ++judges.rows;
    const std::string& system = error_class.empty() ? residual.system : residual.setting.cluster;
    if (std::ranges::find(judges.systems, system) == judges.systems.end()) judges.systems.push_back(system);
  }
  return judges;
}

// "17 published iterations predicted without a host on 3 systems (a, b, c)".
std::string words_of(const Judges& judges, std::string_view whose) {
  constexpr std::size_t kNamed = 4;
  return fmt::format("{} {} on {} ({})", counted(judges.rows, "published iteration"), whose,
                     counted(judges.systems.size(), "system"), first_names(judges.systems, kNamed));
}

// "; 1 more, on a100_mesh_4x8 as this case, is left out, ..."; "" where no row is.
std::string left_out_words(const Judges& judges, const IterationSetting& setting) {
  if (judges.of_left_out == 0) return "";
  return fmt::format("; {} more, on {} as this case, {} left out, so that no published time judges itself",
                     judges.of_left_out, setting.cluster, judges.of_left_out == 1 ? "is" : "are");
}

// "InfiniBand", as people write it.
std::string transport_words(const std::string& transport) {
  if (transport == "infiniband") return "InfiniBand";
  if (transport == "roce") return "Ethernet (RoCE)";
  if (transport == "tcp") return "TCP";
  if (transport == "efa") return "EFA";
  return transport.empty() ? "an unknown network" : capital(transport);
}

// The parts of a setting that published iterations have, those of one system left out.
struct MeasuredParts {
  bool software = false, gpu = false, gpu_of_software = false, network = false;
  bool fitted = false;  // the software, of iterations to which something was fitted
  int most_nodes = 0;   // with the software and the network
};

MeasuredParts known_of(const IterationSetting& setting, const std::vector<Residual>& residuals,
                       const std::string& left_out) {
  MeasuredParts of;
  of.network = setting.nodes == 1;
  for (const Residual& residual : residuals) {
    if (!residual.is_iteration() || residual.system == left_out) continue;
    const IterationSetting& known = residual.setting;
    of.fitted = of.fitted || (residual.fitted && known.software == setting.software);
    if (residual.fitted) continue;
    of.gpu = of.gpu || known.gpu == setting.gpu;
    if (known.software != setting.software) continue;
    of.software = true;
    of.gpu_of_software = of.gpu_of_software || known.gpu == setting.gpu;
    if (known.transport != setting.transport) continue;
    of.network = true;
    of.most_nodes = std::max(of.most_nodes, known.nodes);
  }
  return of;
}

// A run of the system itself that is left out does not count; that it exists is not denied.
std::string_view no_run(bool own) {
  return own ? "no other published run" : "no published run";
}

}  // namespace

bool Interval::is_set_by_host() const {
  constexpr double kAll = 0.995;  // of the iteration
  double all = 0, host = 0;
  for (const UncertainPart& part : parts) {
    all += part.ms;
    host += part.error_class == "host" ? part.ms : part.beneath_ms;
  }
  return all > 0 && host >= kAll * all;
}

double composed_scale(const std::vector<UncertainPart>& parts, double total_ms) {
  double squares = 0;
  for (const UncertainPart& part : parts) squares += std::pow(part.ms / total_ms * part.scale, 2);
  return std::sqrt(squares);
}

double Interval::placement_mean() const {
  return placements.empty() ? 0 : mean(placements);
}

double Interval::placement_scale() const {
  const double middle = placement_mean();
  double squares = 0;
  for (const double placement : placements) squares += std::pow(placement - middle, 2);
  return placements.empty() ? 0 : std::sqrt(squares / static_cast<double>(placements.size()));
}

double Interval::expected(double told) const {
  return told * std::exp(placement_mean());
}

double Interval::scale() const {
  double total = 0;
  for (const UncertainPart& part : parts) total += part.ms;
  const double composed = total > 0 ? composed_scale(parts, total) : 0;
  return std::hypot(std::hypot(composed, rest_scale), std::hypot(spread_scale, placement_scale()));
}

ErrorModel::ErrorModel(std::vector<Residual> residuals)
    : residuals_(std::move(residuals)),
      classes_(residuals_),
      rests_(rests_of(residuals_, [this](const std::vector<IterationPart>& parts) { return composed(parts); })) {}

double ErrorModel::part_scale(const IterationPart& part) const {
  const double measured = classes_.scale(part.error_class);
  if (part.own_scale)
    return HeldOutScale{*part.own_scale, part.own_measured.value_or(*part.own_scale), part.guessed}.beside(
        measured, guessed_constant_scale());
  return part.guessed ? std::hypot(measured, guessed_constant_scale()) : measured;
}

double ErrorModel::composed(const std::vector<IterationPart>& parts) const {
  std::vector<UncertainPart> uncertain;
  double total = 0;
  for (const IterationPart& part : by_class(parts)) {
    uncertain.push_back(
        {part.error_class, part.ms, part_scale(part), part.guessed, part.fitted_share, part.beneath_ms});
    total += part.ms;
  }
  return total > 0 ? composed_scale(uncertain, total) : 0;
}

bool ErrorModel::has_published(const IterationSetting& setting) const {
  return std::ranges::any_of(residuals_, [&, system = setting.system()](const Residual& residual) {
    return residual.is_iteration() && residual.system == system && residual.setting.model == setting.model;
  });
}

Interval ErrorModel::wordless_interval(double ms, const IterationSetting& setting,
                                       const std::vector<IterationPart>& parts, const DrawnSpread& spread,
                                       const std::string& left_out) const {
  Interval interval;
  interval.setting = setting;
  interval.outside = outside_of(setting, residuals_, left_out);
  interval.spread_scale = spread.batches;
  interval.placements = spread.placements;
  interval.rest_scale = rests_.scale("iteration/" + setting.software, left_out);
  for (const IterationPart& part : by_class(parts))
    interval.parts.push_back(
        {part.error_class, part.ms, part_scale(part), part.guessed, part.fitted_share, part.beneath_ms});
  const double half = coverage_quantile() * interval.scale();
  const double middle = interval.expected(ms);
  interval.low_ms = middle * std::exp(-half);
  interval.high_ms = middle * std::exp(half);
  return interval;
}

Interval ErrorModel::interval(double ms, const IterationSetting& setting, const std::vector<IterationPart>& parts,
                              const DrawnSpread& spread, const std::string& left_out) const {
  Interval interval = wordless_interval(ms, setting, parts, spread, left_out);
  Judges judges = judges_of(residuals_, "iteration/" + setting.software, left_out);
  const bool known = !judges.systems.empty();
  if (!known) judges = judges_of(residuals_, "", left_out);
  const std::string whose = !known                       ? "of other software"
                            : setting.software == "none" ? "predicted without a host"
                                                         : "of " + setting.software;
  interval.basis = words_of(judges, whose) + left_out_words(judges, setting);
  interval.basis += calibrated_words(parts, setting.cluster);
  return interval;
}

std::vector<std::string> outside_of(const IterationSetting& setting, const std::vector<Residual>& residuals,
                                    const std::string& left_out) {
  const MeasuredParts known = known_of(setting, residuals, left_out);
  const MeasuredParts with_own = left_out.empty() ? known : known_of(setting, residuals, "");
  const std::string whose = setting.software == "none" ? "without a simulated host" : "of " + setting.software;
  const std::string network = transport_words(setting.transport);
  std::vector<std::string> outside;
  if (!known.software)
    outside.push_back(known.fitted ? fmt::format("all {}published runs {} were used to choose constants",
                                                 with_own.software ? "other " : "", whose)
                                   : fmt::format("{} {}", no_run(with_own.software), whose));
  if (!known.gpu) {
    outside.push_back(fmt::format("{} on {}", no_run(with_own.gpu), setting.gpu));
  } else if (known.software && !known.gpu_of_software) {
    outside.push_back(fmt::format("{} {} on {}", no_run(with_own.gpu_of_software), whose, setting.gpu));
  }
  if (known.software && !known.network) {
    outside.push_back(fmt::format("{} {} on {}", no_run(with_own.network), whose, network));
  } else if (known.software && setting.nodes > known.most_nodes && setting.nodes > 1) {
    outside.push_back(fmt::format("{} {} on {} at more than {}", no_run(with_own.most_nodes >= setting.nodes), whose,
                                  network, counted(static_cast<std::size_t>(known.most_nodes), "node")));
  }
  return outside;
}

}  // namespace shardsim
