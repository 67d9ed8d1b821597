#pragma once

#include <memory>

#include "validate/execute/wire.h"

namespace shardsim {

std::unique_ptr<Wire> connect_sockets(Rendezvous& rendezvous, int channels);

}  // namespace shardsim
