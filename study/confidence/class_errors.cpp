#include "study/confidence/class_errors.h"

#include <boost/math/distributions/students_t.hpp>
#include <cmath>

#include "base/units.h"

namespace shardsim {
namespace {

// Boost works tables out when a program starts. Where long doubles have no more bits than doubles, as under valgrind,
// one of them is beyond what they hold, which is to be no exception.
using ErrorLaw = boost::math::students_t_distribution<
    double,
    boost::math::policies::policy<boost::math::policies::overflow_error<boost::math::policies::errno_on_error>>>;

constexpr double kGuessFactor = 1.5;
constexpr double kGuessedConstantFactor = 1.25;

// "a", "a/b", "a/b/c".
std::vector<std::string> from_general(const std::string& error_class) {
  std::vector<std::string> classes;
  for (std::size_t end = error_class.find('/'); end != std::string::npos; end = error_class.find('/', end + 1))
    classes.push_back(error_class.substr(0, end));
  classes.push_back(error_class);
  return classes;
}

// Classes of networks for which no accuracy is claimed, or whose rate is not known.
bool is_of_foreign_network(const std::string& error_class) {
  const std::string root = error_class.substr(0, error_class.find('/'));
  return root != "collective" && root.ends_with("_collective");
}

struct MeanSize {
  double sum = 0;
  int rows = 0;
};

}  // namespace

ClassErrors::ClassErrors(const std::vector<Residual>& residuals) {
  std::map<std::string, std::map<std::string, MeanSize>> means;
  const Residual* last = nullptr;
  std::vector<MeanSize*> of_last;  // one after the other, most rows are of one class and system
  for (const Residual& residual : residuals) {
    if (residual.fitted) continue;
    if (last == nullptr || residual.error_class != last->error_class || residual.system != last->system) {
      of_last.clear();
      for (const std::string& each : from_general(residual.error_class))
        of_last.push_back(&means[each][residual.system]);
      last = &residual;
    }
    const double size = std::abs(residual.error());
    for (MeanSize* const mean : of_last) {
      mean->sum += size;
      ++mean->rows;
    }
  }
  for (const auto& [error_class, systems] : means) {
    for (const auto& [system, mean] : systems) sizes_[error_class][system] = mean.sum / mean.rows;
  }
}

int ClassErrors::systems(const std::string& error_class, const std::string& left_out) const {
  const auto known = sizes_.find(error_class);
  if (known == sizes_.end()) return 0;
  return static_cast<int>(known->second.size()) - static_cast<int>(known->second.count(left_out));
}

double ClassErrors::scale(const std::string& error_class, const std::string& left_out) const {
  double scale = guess_scale(), weight = 0;
  for (const std::string& each : from_general(error_class)) {
    const auto known = sizes_.find(each);
    if (known == sizes_.end()) continue;
    double sum = weight * scale, count = weight;
    for (const auto& [system, size] : known->second) {
      if (system == left_out) continue;
      sum += size;
      ++count;
    }
    if (count == 0) continue;
    scale = sum / count;
    weight = kParentSystems;
  }
  return is_of_foreign_network(error_class) ? std::hypot(scale, guessed_constant_scale()) : scale;
}

std::string_view size_class(std::int64_t bytes) {
  if (bytes < 64 * kKiB) return kSizeClasses[0];
  if (bytes < kMiB) return kSizeClasses[1];
  return bytes < 64 * kMiB ? kSizeClasses[2] : kSizeClasses[3];
}

SizedClass sized_class(const std::string& error_class) {
  for (std::size_t size = 0; size < kSizeClasses.size(); ++size) {
    const std::string component = "/" + std::string(kSizeClasses[size]) + "/";
    const std::size_t at = error_class.find(component);
    if (at == std::string::npos) continue;
    return {error_class.substr(0, at) + error_class.substr(at + component.size() - 1), static_cast<int>(size)};
  }
  return {error_class, 0};
}

double coverage_quantile() {
  static const double quantile = boost::math::quantile(ErrorLaw(kErrorFreedom), (1 + kCoverage) / 2);
  return quantile;
}

double guess_scale() {
  return std::log(kGuessFactor) / coverage_quantile();
}

double guessed_constant_scale() {
  return std::log(kGuessedConstantFactor) / coverage_quantile();
}

double error_chance(double value) {
  return boost::math::cdf(ErrorLaw(kErrorFreedom), value);
}

}  // namespace shardsim
