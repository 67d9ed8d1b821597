#include "validate/execute/kernels/cuda_memory.h"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "validate/execute/kernels/cuda_embedding.h"
#include "validate/execute/kernels/cuda_shape.h"

namespace shardsim::cuda {
namespace {

std::string mib(std::size_t bytes) {
  return std::to_string((bytes + (std::size_t{1} << 20) - 1) >> 20) + " MiB";
}

Error out_of_memory(std::size_t bytes, const std::string& what) {
  std::size_t free = 0, total = 0;
  cudaGetLastError();  // the failed allocation is not an error of the next call
  std::string had = cudaMemGetInfo(&free, &total) == cudaSuccess ? mib(free) + " of " + mib(total) + " are free"
                                                                 : "how much is free is not known";
  return run_error("out of GPU memory: " + what + " needs " + mib(bytes) + ", and " + had,
                   "Use a smaller batch or more GPUs, or end what else runs on this GPU (nvidia-smi)");
}

}  // namespace

void check(cudaError_t code, const std::string& doing) {
  if (code == cudaSuccess) return;
  throw run_error(doing + ": CUDA says '" + cudaGetErrorString(code) + "' (" + cudaGetErrorName(code) + ")",
                  code == cudaErrorNoKernelImageForDevice
                      ? "Build on this machine, or name the GPU's architecture in CUDA_ARCH (build.sh) or "
                        "SHARDSIM_CUDA_ARCHITECTURES (CMake)"
                      : "Look at the state of the GPU (nvidia-smi) and run 'compute-sanitizer' if this comes again");
}

int device_count(const std::string& who) {
  int count = 0;
  const cudaError_t code = cudaGetDeviceCount(&count);
  if (code == cudaSuccess && count > 0) return count;
  const std::string why = code == cudaSuccess ? "" : std::string(": CUDA says '") + cudaGetErrorString(code) + "'";
  throw run_error(who + "CUDA finds no usable GPU" + why,
                  code == cudaErrorInsufficientDriver
                      ? "Update the driver, or build with a toolkit that is no newer than it (nvidia-smi says which)"
                      : "Look at nvidia-smi and CUDA_VISIBLE_DEVICES; --device cpu runs without one");
}

void check_launch(const std::string& doing) {
  check(cudaGetLastError(), doing);
}

DeviceBuffer::DeviceBuffer(std::size_t bytes, const std::string& what) : bytes_(bytes) {
  if (bytes == 0) return;
  const cudaError_t code = cudaMalloc(&data_, bytes);
  if (code == cudaErrorMemoryAllocation) throw out_of_memory(bytes, what);
  check(code, "allocation of " + what);
}

DeviceBuffer::~DeviceBuffer() {
  if (data_ != nullptr) cudaFree(data_);
}

DeviceBuffer::DeviceBuffer(DeviceBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

DeviceBuffer& DeviceBuffer::operator=(DeviceBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

// The copies are ordered against a stream of its own, so they wait for all streams.
void DeviceBuffer::upload(const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  check(cudaMemcpy(data_, from, bytes, cudaMemcpyHostToDevice), "copy to the GPU");
  check(cudaDeviceSynchronize(), "copy to the GPU");
}

void DeviceBuffer::download(void* to, std::size_t bytes) const {
  if (bytes == 0) return;
  check(cudaDeviceSynchronize(), "copy from the GPU");
  check(cudaMemcpy(to, data_, bytes, cudaMemcpyDeviceToHost), "copy from the GPU");
}

void DeviceBuffer::clear() {
  if (bytes_ == 0) return;
  check(cudaMemset(data_, 0, bytes_), "clearing of GPU memory");
  check(cudaDeviceSynchronize(), "clearing of GPU memory");
}

HostBuffer::HostBuffer(std::size_t bytes, const std::string& what) {
  if (bytes == 0) return;
  const cudaError_t code = cudaHostAlloc(&data_, bytes, cudaHostAllocMapped | cudaHostAllocPortable);
  if (code != cudaSuccess) {
    cudaGetLastError();
    throw run_error("out of host memory: " + what + " needs " + mib(bytes) + " that stay in place",
                    "Use a smaller case, or raise the limit of locked memory (ulimit -l)");
  }
  std::memset(data_, 0, bytes);
}

HostBuffer::~HostBuffer() {
  if (data_ != nullptr) cudaFreeHost(data_);
}

void load_kernels_early() {
  static std::once_flag once;  // ranks may be threads, and the environment is theirs together
  std::call_once(once, [] { setenv("CUDA_MODULE_LOADING", "EAGER", 0); });
}

int multiprocessors() {
  int device = 0, count = 0;
  check(cudaGetDevice(&device), "the current GPU");
  check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device), "properties of the GPU");
  return count;
}

std::string driver_version() {
  std::ifstream file("/sys/module/nvidia/version");
  std::string version;
  std::getline(file, version);
  return version;
}

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

namespace {

constexpr std::int64_t kVectorBytes = 16;

}  // namespace

DeviceTables::DeviceTables(const TableBatch& tables) : type_(tables.type), bags_(tables.bags) {
  place_tables(tables);
  sort_by_alignment();
}

void DeviceTables::place_tables(const TableBatch& tables) {
  std::int64_t elements = 0;
  for (int t = 0; t < tables.tables(); ++t) {
    host_.push_back({tables.rows[t], tables.dim[t], tables.begin[t], output_dim_, rows_, elements});
    output_dim_ += tables.dim[t];
    rows_ += tables.rows[t];
    elements += tables.rows[t] * tables.dim[t];
    largest_dim_ = std::max(largest_dim_, tables.dim[t]);
  }
  views_ = DeviceBuffer(host_.size() * sizeof(TableView), "the list of tables");
  views_.upload(host_.data(), host_.size() * sizeof(TableView));
}

// The blocks of a lookup before each of these tables, and of all of them.
std::vector<std::uint32_t> DeviceTables::blocks_of(const std::vector<int>& tables, int width) const {
  std::vector<std::uint32_t> before{0};
  for (const int t : tables) {
    const unsigned lanes = lanes_for((host_[t].dim + width - 1) / width);
    before.push_back(before.back() + static_cast<std::uint32_t>(blocks_for(bags_, kThreads / lanes)));
  }
  return before;
}

void DeviceTables::sort_by_alignment() {
  const std::int64_t bytes = element_bytes(type_);
  std::vector<int> aligned, others;
  for (int t = 0; t < this->tables(); ++t) {
    const bool whole = host_[t].dim * bytes % kVectorBytes == 0 && host_[t].begin * bytes % kVectorBytes == 0;
    (whole ? aligned : others).push_back(t);
  }
  std::vector<std::uint32_t> numbers;  // tables of both lists, then their blocks
  numbers.insert(numbers.end(), aligned.begin(), aligned.end());
  numbers.insert(numbers.end(), others.begin(), others.end());
  const auto list_of = [&](const std::vector<int>& tables, int width, List& list) {
    const std::vector<std::uint32_t> blocks = blocks_of(tables, width);
    list.count = static_cast<int>(tables.size());
    list.all_blocks = blocks.back();
    const std::size_t at = numbers.size();
    numbers.insert(numbers.end(), blocks.begin(), blocks.end());
    return at;
  };
  const std::size_t of_vectors = list_of(aligned, static_cast<int>(kVectorBytes / bytes), in_vectors_);
  const std::size_t of_elements = list_of(others, 1, in_elements_);
  lists_ = DeviceBuffer(numbers.size() * sizeof(std::uint32_t), "the list of tables");
  lists_.upload(numbers.data(), numbers.size() * sizeof(std::uint32_t));
  in_vectors_.tables = lists_.as<int>();
  in_elements_.tables = lists_.as<int>() + in_vectors_.count;
  in_vectors_.blocks = lists_.as<std::uint32_t>() + of_vectors;
  in_elements_.blocks = lists_.as<std::uint32_t>() + of_elements;
}

bool DeviceTables::four_columns() const {
  return output_dim_ % 4 == 0 && std::all_of(host_.begin(), host_.end(), [](const TableView& table) {
           return table.dim % 4 == 0 && table.begin % 4 == 0 && table.column % 4 == 0;
         });
}

namespace {

// Hands out aligned parts of one allocation: first counting, then for real.
struct Parts {
  char* base = nullptr;
  std::size_t used = 0;

  template <typename T>
  void take(T*& part, std::int64_t count) {
    if (base != nullptr) part = reinterpret_cast<T*>(base + used);
    used += (static_cast<std::size_t>(count) * sizeof(T) + 255) / 256 * 256;
  }
};

}  // namespace

UpdateWorkspace::UpdateWorkspace(std::int64_t most, std::int64_t columns, int most_tables)
    : indices(most), dim(columns), tables(most_tables) {
  sort_bytes = sorting_bytes(indices);
  const auto place = [&](Parts memory) {
    memory.take(keys, indices);
    memory.take(sorted_keys, indices);
    memory.take(numbers, indices);
    memory.take(values, indices);
    memory.take(sorted_values, indices);
    memory.take(windows, tables + 1);
    memory.take(parts, most_parts(indices));
    memory.take(part_counts, 2);
    memory.take(arrived, most_places(indices));
    memory.take(partial_sums, most_places(indices) * dim);
    memory.take(sort_memory, static_cast<std::int64_t>(sort_bytes));
    return memory.used;
  };
  buffer = DeviceBuffer(place({}), "the workspace of updates");
  place({buffer.as<char>()});
  std::vector<std::uint32_t> counting(static_cast<std::size_t>(indices));
  std::iota(counting.begin(), counting.end(), 0U);
  check(cudaMemcpy(numbers, counting.data(), counting.size() * sizeof(std::uint32_t), cudaMemcpyHostToDevice),
        "numbering of lookups");
  check(cudaDeviceSynchronize(), "numbering of lookups");
}

}  // namespace shardsim::cuda
