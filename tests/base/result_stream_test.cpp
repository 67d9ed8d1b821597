#include "base/result_stream.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <thread>

#include "base/files.h"
#include "base/result_folder.h"
#include "tests/base/error_text.h"
#include "tests/base/test_folder.h"

namespace shardsim::result_stream_test {

namespace fs = std::filesystem;

const ResultWriter kWriter{"shardsim plan", false};

TEST_CASE("pipes and character devices are streams; files, folders and what is missing are not") {
  const TestFolder folder;
  write_file(folder / "file", "x");
  ::mkfifo((folder / "pipe").c_str(), 0600);
  fs::create_symlink("/dev/null", folder / "link");
  CHECK(is_stream("/dev/null"));
  CHECK(is_stream(folder / "pipe"));
  CHECK(is_stream(folder / "link"));
  CHECK_FALSE(is_stream(folder / "file"));
  CHECK_FALSE(is_stream(folder / ""));
  CHECK_FALSE(is_stream(folder / "missing"));
}

TEST_CASE("a result goes into a device, which stays, and is not recorded") {
  check_result("/dev/null", kWriter);
  write_result("/dev/null", kWriter, "some text");
  write_result("/dev/null", kWriter, "");
  CHECK(fs::is_character_file("/dev/null"));
  CHECK_FALSE(is_there("/dev/.shardsim-files"));
}

TEST_CASE("who reads a pipe gets the whole result, and the pipe stays") {
  const TestFolder folder;
  const fs::path pipe = folder / "pipe.json";
  ::mkfifo(pipe.c_str(), 0600);
  std::string read;
  std::thread reader([&] { std::getline(std::ifstream(pipe), read, '\0'); });
  const std::string text(200'000, 'x');  // more than a pipe holds
  write_result(pipe, kWriter, [&](const fs::path& file) {
    CHECK(file.filename() == "pipe.json");
    write_file(file, text);
  });
  reader.join();
  CHECK(read == text);
  CHECK(fs::is_fifo(pipe));
  CHECK(folder.entries() == 1);
}

TEST_CASE("a result goes through a descriptor behind what its file holds") {
  const TestFolder folder;
  write_file(folder / "file", "before ");
  const int file = ::open((folder / "file").c_str(), O_WRONLY | O_APPEND);
  const fs::path name = "/dev/fd/" + std::to_string(file);
  fs::create_symlink(name, folder / "link");
  CHECK(is_stream(name));
  CHECK(is_stream(folder / "link"));
  check_result(name, kWriter);
  write_result(name, kWriter, "text");
  write_result(folder / "link", kWriter, ", more");
  ::close(file);
  CHECK(read_file((folder / "file").string()) == "before text, more");
}

TEST_CASE("a full device is told of by its name") {
  CHECK(has(error_of([] { write_result("/dev/full", kWriter, "text"); }), "/dev/full: cannot write it"));
}

}  // namespace shardsim::result_stream_test
