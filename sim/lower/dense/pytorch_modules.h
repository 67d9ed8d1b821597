#pragma once

#include <vector>

#include "sim/lower/dense/dense_work.h"

// The modules of PyTorch that a dense part is made of, as the kernels that each of them runs forward and backward
// (docs/lowering.md, "PyTorch's dense part"). Sizes count elements; bytes are those that a kernel reads and writes.
namespace shardsim::pytorch {

inline constexpr double kFloat = 4, kHalf = 2;  // bytes of a number

// Which part of a pass L2 may hold: all of it where the kernel before wrote what is read, two thirds where one of three
// tensors is older.
inline constexpr double kFresh = 1, kHalfFresh = 2.0 / 3;

// The kernels of a pass, in the order in which they run.
class KernelList {
 public:
  explicit KernelList(const DensePart& dense) : half_(dense.precision == "fp16" || dense.precision == "bf16") {}

  bool half() const { return half_; }
  double element() const { return half_ ? kHalf : kFloat; }

  void call(const char* op, DenseKernel kernel, double calls = 1);
  void pass(const char* op, double bytes, double fresh = 0, double calls = 1);
  void strided(const char* op, double bytes, double calls = 1);
  // To half precision before a product, and gradients back to that of the parameters.
  void cast(double numbers);
  // Autocast runs this in fp32: layer norms.
  void to_floats(double numbers);
  void widen(double numbers);
  // Tensors joined in rows of `samples`, one kernel; of fp32 vectors with dense ones in half precision a kernel each,
  // if every table has a tensor of its own.
  void join(double samples, double columns, double tensors);
  void repeat_from(std::size_t first, double times);
  std::size_t size() const { return kernels_.size(); }

  // Sums over the kernels are what other compute models, and the executor, go by.
  DenseWork take();

 private:
  bool half_;
  std::vector<DenseKernel> kernels_;
};

// The interaction's input: the output of the bottom layers and the vectors of the tables.
struct Joined {
  double samples = 0, width = 0, bottom = 0;
  double tensors = 2;  // that are joined: the dense one, and that of the tables, or one of each
  // Tables with a tensor of their own get a slice of its gradient, which is not copied.
  bool one_by_one() const { return tensors > 2; }
};

Joined joined_of(const Workload& workload, double width);

// A linear layer, once: `m` samples, `in` columns to `out`.
class Linear {
 public:
  Linear(KernelList& list, double m, double in, double out, bool has_bias, bool has_relu)
      : list_(list), m_(m), in_(in), out_(out), has_bias_(has_bias), has_relu_(has_relu) {}

  void forward(bool casts_input) const;
  void backward(bool is_input, bool widens_input) const;

 private:
  void products(bool is_input) const;

  KernelList& list_;
  double m_, in_, out_;
  bool has_bias_, has_relu_;
};

// The dot interaction: `vectors` of each sample with each other, the lower triangle of them behind the dense vector.
class Dot {
 public:
  Dot(KernelList& list, const DenseLayer& layer, const Joined& joined)
      : list_(list),
        joined_(joined),
        vectors_(static_cast<double>(layer.out)),
        columns_(joined.width / vectors_),
        pairs_(vectors_ * (vectors_ - 1) / 2) {}

  void forward() const;
  void backward() const;

 private:
  KernelList& list_;
  const Joined& joined_;
  double vectors_, columns_, pairs_;
};

// One layer of DCN v2 of low rank: x0 (W V x + b) + x.
class Cross {
 public:
  Cross(KernelList& list, double m, double width, double rank) : list_(list), m_(m), width_(width), rank_(rank) {}

  void forward() const;

  // Each product of the sum has a gradient, and those of x and x0 are added to what came from the layers behind.
  void backward() const;

 private:
  KernelList& list_;
  double m_, width_, rank_;
};

// Around the attention of a history of `items` items with itself, what nn.MultiheadAttention with `batch_first` runs:
// it lays the items of all samples behind each other by position, and queries, keys and values apart by head.
class MultiheadAttention {
 public:
  MultiheadAttention(KernelList& list, double items, double width)
      : list_(list), items_(items), width_(width), bytes_(items * width * list.element()) {}

  void in_projection() const;

  // Gradients of queries, keys and values are laid back by position, each in two copies, and written into zeros of the
  // size of all three, which are then added up.
  void in_projection_backward() const;

  void out_projection() const { list_.strided("elementwise", 2 * bytes_); }
  void out_projection_backward() const { list_.strided("elementwise_backward", 2 * bytes_); }

 private:
  static constexpr int kHeadsOf = 3;  // queries, keys and values
  KernelList& list_;
  double items_, width_, bytes_;
};

// This stands behind a layer: its input is added, then a norm, then a mean of items. Under autocast all is in fp32, for
// the input is, and norms ask for it.
class Behind {
 public:
  Behind(KernelList& list, const DenseLayer& layer, double rows)
      : list_(list), layer_(layer), rows_(rows), numbers_(rows * static_cast<double>(layer.out)) {}

  void forward() const;
  void backward() const;

 private:
  bool swish() const { return layer_.norm == NormKind::swish_layer_norm; }

  // nn.MultiheadAttention returns the items of a sample apart from each other.
  void add(const char* op, double bytes, double calls) const;

  DenseKernel kernel(DenseKernelKind kind, double tensors) const;
  void norm() const;
  void norm_backward() const;

  KernelList& list_;
  const DenseLayer& layer_;
  double rows_, numbers_;
};

}  // namespace shardsim::pytorch
