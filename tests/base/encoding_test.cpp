#include "base/encoding.h"

#include <doctest/doctest.h>

#include <string>

namespace shardsim::utf16_test {

using namespace std::string_literals;

TEST_CASE("a text of two bytes a character is read in either order, and what is not ASCII becomes a question mark") {
  CHECK(is_utf16("\xff\xfe"s + "G\0"s));
  CHECK_FALSE(is_utf16("GPU0"));
  CHECK(ascii_of_utf16("\xff\xfe"s + "G\0P\0\n\0"s) == "GP\n");
  CHECK(ascii_of_utf16("\xfe\xff"s + "\0G\0P\0\n"s) == "GP\n");
  CHECK(ascii_of_utf16("\xff\xfe"s + "\xe4\x00\x13\x20"s + "X\0"s) == "??X");
  CHECK(ascii_of_utf16("\xff\xfe"s + "X\0Y"s) == "X");  // cut in a character
}

}  // namespace shardsim::utf16_test
