#pragma once

namespace shardsim {

// SIGINT and SIGTERM are noted and end nothing by themselves; a file size limit becomes a write error like a full disk.
enum class SecondSignal { noted, kills };  // `kills`: the second one of a kind ends the process at once
void catch_signals(SecondSignal second = SecondSignal::noted);

// The number of the signal that came last, or 0.
int caught_signal();

}  // namespace shardsim
