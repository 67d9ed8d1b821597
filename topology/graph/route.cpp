#include "topology/graph/route.h"

namespace shardsim {

std::string_view path_class_name(PathClass path) {
  switch (path) {
    case PathClass::loc:
      return "LOC";
    case PathClass::nvl:
      return "NVL";
    case PathClass::nvb:
      return "NVB";
    case PathClass::pix:
      return "PIX";
    case PathClass::pxb:
      return "PXB";
    case PathClass::phb:
      return "PHB";
    case PathClass::sys:
      return "SYS";
    case PathClass::net:
      return "NET";
  }
  return "";
}

}  // namespace shardsim
