#pragma once

#include <Eigen/Core>
#include <span>
#include <type_traits>
#include <vector>

namespace shardsim {

// Numbers of the nets as Eigen's matrices, nothing copied. For the sources of nets alone: their headers know no Eigen.

template <typename Scalar>
using EigenMatrix = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic>;

// Parameters that are changed, or with a constant `Number` those that are not; column by column.
template <typename Number>
using ParameterMap = Eigen::Map<
    std::conditional_t<std::is_const_v<Number>, const EigenMatrix<std::remove_const_t<Number>>, EigenMatrix<Number>>>;

// Samples beside each other, each a column of `rows` numbers.
template <typename Scalar>
Eigen::Map<const EigenMatrix<Scalar>> columns_of(std::span<const Scalar> values, int rows) {
  return {values.data(), rows, static_cast<Eigen::Index>(values.size()) / rows};
}

template <typename Scalar>
Eigen::Map<EigenMatrix<Scalar>> columns_of(std::vector<Scalar>& values, int rows) {
  return {values.data(), rows, static_cast<Eigen::Index>(values.size()) / rows};
}

}  // namespace shardsim
