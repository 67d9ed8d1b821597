#include <algorithm>

#include "topology/graph/node_links.h"

namespace shardsim {
namespace {

// Pivots after which the shares found so far are taken: they are always possible, at worst not the best.
constexpr int kMostPivots = 20'000;
constexpr double kZero = 1e-11;

// The simplex method in its condensed form: maximises the last variable. Row: sum over columns <= right side (>= 0).
class Tableau {
 public:
  Tableau(std::size_t rows, std::size_t columns) : cells_(rows + 1, std::vector<double>(columns + 1, 0)) {
    for (std::size_t i = 0; i < columns; ++i) column_name_.push_back(i);
    for (std::size_t i = 0; i < rows; ++i) row_name_.push_back(columns + i);
    cells_[rows][columns - 1] = -1;
  }

  double& at(std::size_t row, std::size_t column) { return cells_[row][column]; }
  double& right(std::size_t row) { return cells_[row].back(); }

  void maximise() {
    for (int pivots = 0; pivots < kMostPivots; ++pivots) {
      const std::size_t column = entering();
      if (column == column_name_.size()) return;
      const std::size_t row = leaving(column);
      if (row == row_name_.size()) return;
      pivot(row, column);
    }
  }

  double value(std::size_t variable) const {
    const auto row = std::find(row_name_.begin(), row_name_.end(), variable);
    return row == row_name_.end() ? 0 : cells_[static_cast<std::size_t>(row - row_name_.begin())].back();
  }

 private:
  std::size_t entering() const {
    const auto& gains = cells_.back();
    const auto best = std::min_element(gains.begin(), gains.end() - 1);
    return *best < -kZero ? static_cast<std::size_t>(best - gains.begin()) : column_name_.size();
  }

  // Returns the tightest row. The row of the first variable wins a tie, which keeps the method from cycling.
  std::size_t leaving(std::size_t column) const {
    std::size_t tightest = row_name_.size();
    double least = 0;
    for (std::size_t row = 0; row < row_name_.size(); ++row) {
      if (cells_[row][column] <= kZero) continue;
      const double ratio = cells_[row].back() / cells_[row][column];
      const bool ties = tightest < row_name_.size() && ratio < least + kZero && row_name_[row] < row_name_[tightest];
      if (tightest < row_name_.size() && ratio >= least - kZero && !ties) continue;
      tightest = row;
      least = ratio;
    }
    return tightest;
  }

  void pivot(std::size_t row, std::size_t column) {
    auto& pivot_row = cells_[row];
    const double factor = 1 / pivot_row[column];
    pivot_row[column] = 1;
    for (double& cell : pivot_row) cell *= factor;
    for (auto& other : cells_) {
      if (&other == &pivot_row || other[column] == 0) continue;
      const double times = other[column];
      other[column] = 0;
      for (std::size_t i = 0; i < other.size(); ++i) other[i] -= times * pivot_row[i];
    }
    std::swap(row_name_[row], column_name_[column]);
  }

  std::vector<std::vector<double>> cells_;
  std::vector<std::size_t> row_name_, column_name_;
};

std::vector<double> loads_of_first_ways(std::vector<double> load, const std::vector<SplitDemand>& demands) {
  for (const SplitDemand& demand : demands) {
    for (const std::size_t link : demand.ways[0]) ++load[link];
  }
  return load;
}

}  // namespace

// Variables: the share of every way but the first of each demand, which takes the rest; and, last, by how much the
// fullest link falls below what it has when all goes the first way. So zero everywhere is a possible start.
std::vector<std::vector<double>> balanced_shares(const std::vector<double>& capacity, const std::vector<double>& load,
                                                 const std::vector<SplitDemand>& demands) {
  std::size_t columns = 1;
  for (const SplitDemand& demand : demands) columns += demand.ways.size() - 1;
  const std::vector<double> start = loads_of_first_ways(load, demands);
  double fullest = 0;
  for (std::size_t link = 0; link < capacity.size(); ++link) fullest = std::max(fullest, start[link] / capacity[link]);

  Tableau tableau(capacity.size() + demands.size(), columns);
  for (std::size_t link = 0; link < capacity.size(); ++link) {
    tableau.at(link, columns - 1) = capacity[link];
    tableau.right(link) = std::max(0.0, capacity[link] * fullest - start[link]);
  }
  std::size_t variable = 0;
  for (std::size_t i = 0; i < demands.size(); ++i) {
    tableau.right(capacity.size() + i) = 1;
    for (std::size_t way = 1; way < demands[i].ways.size(); ++way, ++variable) {
      tableau.at(capacity.size() + i, variable) = 1;
      for (const std::size_t link : demands[i].ways[way]) tableau.at(link, variable) += 1;
      for (const std::size_t link : demands[i].ways[0]) tableau.at(link, variable) -= 1;
    }
  }
  tableau.maximise();

  std::vector<std::vector<double>> shares;
  variable = 0;
  for (const SplitDemand& demand : demands) {
    shares.push_back({1});
    for (std::size_t way = 1; way < demand.ways.size(); ++way, ++variable) {
      shares.back().push_back(std::clamp(tableau.value(variable), 0.0, 1.0));
      shares.back()[0] -= shares.back().back();
    }
    shares.back()[0] = std::max(0.0, shares.back()[0]);
  }
  return shares;
}

}  // namespace shardsim
