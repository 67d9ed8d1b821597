#include "validate/execute/meet/secret.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "tests/base/error_text.h"

namespace shardsim::secret_test {

namespace {

const std::string kGood = "c2VjcmV0IG9mIGEgdGVzdA==";

// A file of the given text and mode that goes with this.
class SecretFile {
 public:
  SecretFile(const std::string& text, mode_t mode)
      : path_(std::filesystem::temp_directory_path() / ("shardsim_secret_" + random_secret_text())) {
    std::ofstream(path_) << text;
    chmod(path_.c_str(), mode);
  }
  ~SecretFile() { std::filesystem::remove(path_); }
  SecretFile(const SecretFile&) = delete;
  SecretFile& operator=(const SecretFile&) = delete;
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

std::string error_of_file(const std::string& text, mode_t mode) {
  const SecretFile file(text, mode);
  const std::string error = error_of([&] { secret_of_file(file.path()); });
  CHECK(has(error, file.path()));
  return error;
}

}  // namespace

TEST_CASE("a secret is read without the white space around it") {
  const SecretFile file(kGood + "\n", 0600);
  CHECK(secret_of_file(file.path()) == kGood);
  CHECK(checked_secret(" " + kGood + "\r\n", {}) == kGood);
}

TEST_CASE("secrets that could be guessed, or that others know, are refused with the file's name") {
  CHECK(has(error_of_file("short\n", 0600), "a secret has 16 to 4096 bytes, this one 5"));
  CHECK(has(error_of_file("", 0600), "this one 0"));
  CHECK(has(error_of_file(std::string(5000, 'x'), 0600), "a secret has 16 to 4096 bytes"));
  CHECK(has(error_of_file(kGood, 0644), "chmod 600"));
  CHECK(has(error_of([] { secret_of_file("/no/such/file"); }), "/no/such/file: the secret cannot be read"));
  CHECK(has(error_of([] { secret_of_file("/dev/zero"); }), "regular file"));
}

TEST_CASE("no two secrets that were drawn are alike") {
  CHECK(random_secret().size() == 32);
  CHECK(random_secret() != random_secret());
  CHECK(random_secret_text().size() == 64);
  CHECK(checked_secret(random_secret_text(), {}).size() == 64);
}

}  // namespace shardsim::secret_test
