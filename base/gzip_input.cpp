#include "base/gzip_input.h"

#include <zlib.h>

#include <array>
#include <fstream>
#include <streambuf>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/read_files.h"

namespace shardsim {
namespace {

constexpr std::size_t kPart = std::size_t{1} << 18;  // bytes, packed or unpacked, at a time
constexpr int kGzipOnly = 16 + MAX_WBITS;            // inflateInit2: the window, and the header of gzip
constexpr int kGzipFirstByte = 0x1f;

class GzipBuffer : public std::streambuf {
 public:
  GzipBuffer(std::ifstream file, std::string path) : file_(std::move(file)), path_(std::move(path)) {
    if (inflateInit2(&packed_, kGzipOnly) != Z_OK)
      throw Error(Failure::run, {path_}, "there is no memory to unpack it", "");
  }
  ~GzipBuffer() override { inflateEnd(&packed_); }
  GzipBuffer(const GzipBuffer&) = delete;
  GzipBuffer& operator=(const GzipBuffer&) = delete;

 protected:
  int_type underflow() override {
    packed_.next_out = reinterpret_cast<Bytef*>(out_.data());
    packed_.avail_out = static_cast<uInt>(out_.size());
    while (packed_.avail_out == out_.size()) {
      if (packed_.avail_in == 0 && !refill()) {
        if (!ended_) refuse("is cut off");
        return traits_type::eof();
      }
      if (ended_) begin_member();
      unpack();
    }
    setg(out_.data(), out_.data(), out_.data() + (out_.size() - packed_.avail_out));
    return traits_type::to_int_type(*gptr());
  }

 private:
  bool refill() {
    file_.read(in_.data(), static_cast<std::streamsize>(in_.size()));
    packed_.next_in = reinterpret_cast<Bytef*>(in_.data());
    packed_.avail_in = static_cast<uInt>(file_.gcount());
    return packed_.avail_in > 0;
  }

  void begin_member() {
    inflateReset(&packed_);
    ended_ = false;
  }

  void unpack() {
    const int state = inflate(&packed_, Z_NO_FLUSH);
    if (state == Z_STREAM_END) {
      ended_ = true;
    } else if (state != Z_OK && state != Z_BUF_ERROR) {
      refuse("is damaged");
    }
  }

  [[noreturn]] void refuse(const char* what) const {
    throw DamagedFile(Failure::input, {path_}, std::string("the compressed file ") + what,
                      "Check it with gzip -t, and copy it again from where it was written");
  }

  std::ifstream file_;
  std::string path_;
  z_stream packed_{};
  std::vector<char> in_ = std::vector<char>(kPart), out_ = std::vector<char>(kPart);
  bool ended_ = false;
};

class GzipStream : public std::istream {
 public:
  GzipStream(std::ifstream file, std::string path) : std::istream(nullptr), buffer_(std::move(file), std::move(path)) {
    rdbuf(&buffer_);
  }

 private:
  GzipBuffer buffer_;
};

}  // namespace

bool begins_as_gzip(std::istream& in) {
  return in.peek() == kGzipFirstByte;
}

std::unique_ptr<std::istream> open_text(const std::filesystem::path& path) {
  std::ifstream file = open_to_read(path);
  if (begins_as_gzip(file)) return std::make_unique<GzipStream>(std::move(file), path.string());
  return std::make_unique<std::ifstream>(std::move(file));
}

}  // namespace shardsim
