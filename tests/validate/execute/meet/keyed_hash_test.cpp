#include <doctest/doctest.h>
#include <fmt/format.h>

#include "validate/execute/meet/secret.h"

namespace shardsim::keyed_hash_test {

namespace {

std::string hex(const Digest& digest) {
  std::string text;
  for (const std::uint8_t byte : digest) text += fmt::format("{:02x}", byte);
  return text;
}

std::string repeated(std::size_t count, char byte) {
  return std::string(count, byte);
}

}  // namespace

TEST_CASE("SHA-256 of the examples that NIST publishes with FIPS 180-4") {
  CHECK(hex(sha256("")) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(hex(sha256("abc")) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(hex(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")) ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(hex(sha256(repeated(1'000'000, 'a'))) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("HMAC-SHA256 of the test cases of RFC 4231") {
  CHECK(hex(hmac_sha256(repeated(20, '\x0b'), "Hi There")) ==
        "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  CHECK(hex(hmac_sha256("Jefe", "what do ya want for nothing?")) ==
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  CHECK(hex(hmac_sha256(repeated(20, '\xaa'), repeated(50, '\xdd'))) ==
        "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
  CHECK(hex(hmac_sha256(repeated(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First")) ==
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST_CASE("digests are equal when all of their bytes are") {
  const Digest one = sha256("abc");
  CHECK(equal_in_constant_time(one, sha256("abc")));
  for (const std::size_t at : {0, 15, 31}) {
    Digest other = one;
    other[at] ^= 1;
    CHECK_FALSE(equal_in_constant_time(one, other));
  }
}

}  // namespace shardsim::keyed_hash_test
