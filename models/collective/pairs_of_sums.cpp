#include <algorithm>
#include <cmath>
#include <numeric>
#include <valarray>

#include "models/collective/rank_bytes.h"

namespace shardsim {
namespace {

constexpr int kRounds = 50;
constexpr double kExact = 1e-12;  // of all bytes

using Numbers = std::valarray<double>;

class Fill {
 public:
  Fill(const std::vector<double>& sent, const std::vector<double>& received)
      : n_(sent.size()),
        sent_(sent),
        received_(received),
        total_(std::accumulate(sent.begin(), sent.end(), 0.0)),
        pairs_(1.0, n_ * n_) {
    for (std::size_t i = 0; i < n_; ++i) at(i, i) = 0;
  }

  std::vector<double> pairs() {
    for (int round = 0; round < kRounds; ++round) {
      for (std::size_t i = 0; i < n_; ++i) scale(row(i), factor(sent_[i], sum(row(i))));
      if (columns_hold()) return {std::begin(pairs_), std::end(pairs_)};
      for (std::size_t j = 0; j < n_; ++j) scale(column(j), factor(received_[j], sum(column(j))));
    }
    for (std::size_t i = 0; i < n_; ++i) scale(row(i), std::min(1.0, factor(sent_[i], sum(row(i)))));
    add_rest();
    for (std::size_t i = 0; i < n_; ++i) clear_own(i);
    return {std::begin(pairs_), std::end(pairs_)};
  }

 private:
  double& at(std::size_t from, std::size_t to) { return pairs_[from * n_ + to]; }
  std::slice row(std::size_t from) const { return {from * n_, n_, 1}; }
  std::slice column(std::size_t to) const { return {to, n_, n_}; }
  double sum(const std::slice& some) { return Numbers(pairs_[some]).sum(); }
  void scale(const std::slice& some, double factor) { pairs_[some] *= Numbers(factor, n_); }
  static double factor(double wanted, double sum) { return sum > 0 ? wanted / sum : 0; }

  bool columns_hold() {
    for (std::size_t to = 0; to < n_; ++to)
      if (std::fabs(sum(column(to)) - received_[to]) > kExact * total_) return false;
    return true;
  }

  // Adds the bytes that rows and columns still lack, in proportion to both. Then the sums hold, with a few bytes from
  // members to themselves.
  void add_rest() {
    Numbers rows(n_), columns(n_);
    for (std::size_t i = 0; i < n_; ++i) {
      rows[i] = std::max(0.0, sent_[i] - sum(row(i)));
      columns[i] = std::max(0.0, received_[i] - sum(column(i)));
    }
    const double rest = rows.sum();
    if (rest <= 0) return;
    for (std::size_t from = 0; from < n_; ++from)
      for (std::size_t to = 0; to < n_; ++to) at(from, to) += rows[from] * columns[to] / rest;
  }

  // Trades what a member sends to itself for bytes between the others: i to i and k to l become i to l and k to i. All
  // others together send each other that much or more, as i sends no more than they receive.
  void clear_own(std::size_t i) {
    double others = 0;
    for (std::size_t k = 0; k < n_; ++k)
      for (std::size_t l = 0; l < n_; ++l)
        if (k != i && l != i) others += at(k, l);
    const double share = std::min(1.0, factor(at(i, i), others));
    at(i, i) = 0;
    for (std::size_t k = 0; k < n_; ++k)
      for (std::size_t l = 0; l < n_; ++l) {
        if (k == i || l == i) continue;
        const double moved = at(k, l) * share;
        at(k, l) -= moved;
        at(i, l) += moved;
        at(k, i) += moved;
      }
  }

  std::size_t n_;
  const std::vector<double>& sent_;
  const std::vector<double>& received_;
  double total_;
  Numbers pairs_;  // by rows
};

}  // namespace

std::vector<double> pairs_of_sums(const std::vector<double>& sent, const std::vector<double>& received) {
  return Fill(sent, received).pairs();
}

}  // namespace shardsim
