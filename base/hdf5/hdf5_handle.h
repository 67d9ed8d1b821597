#pragma once

#include <hdf5.h>

#include <string>
#include <utility>

namespace shardsim::detail {

// Owns one HDF5 identifier. Only for the .cpp files that wrap HDF5.
class Hdf5Handle {
 public:
  Hdf5Handle(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  ~Hdf5Handle() {
    if (id_ >= 0) close_(id_);
  }
  Hdf5Handle(Hdf5Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Hdf5Handle(const Hdf5Handle&) = delete;
  Hdf5Handle& operator=(const Hdf5Handle&) = delete;
  Hdf5Handle& operator=(Hdf5Handle&&) = delete;

  operator hid_t() const { return id_; }  // NOLINT(google-explicit-constructor): stands for the identifier
  bool valid() const { return id_ >= 0; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

// HDF5 prints its error stack on stderr unless told otherwise. Forgets what lacked_memory() knows.
void silence_hdf5();

// True when a call of HDF5 has failed for lack of memory since silence_hdf5(). A later failure, or data that seems to
// be missing, is then no sign of a damaged file or of a fault of ours.
bool lacked_memory();

// The cause of the last failed HDF5 call, in its own words: the innermost line of its error stack.
std::string hdf5_cause();

}  // namespace shardsim::detail
