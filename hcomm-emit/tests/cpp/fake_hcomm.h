// One rank of HCOMM that does nothing but print what is queued, and say where the rules are broken.
#ifndef FAKE_HCOMM_H
#define FAKE_HCOMM_H

#include <cstdint>
#include <vector>

struct FakeRank {
    uint32_t rank = 0;
    uint32_t ranks = 1;
    uint64_t hcclBuffer = 0;
    bool hasBuffer = false; ///< whether it was asked for
    std::vector<uint32_t> nodes;
    std::vector<uint32_t> pods;
};

/// A new communicator: nothing is acquired.
void FakeReset(const FakeRank &rank);
/// New symmetric windows around the buffers, which have other handles: the peers do not know of them yet.
void FakeRegister();
/// Counts what was acquired, and prints it.
void FakePrintResources();

constexpr uint64_t FAKE_INPUT = uint64_t{1} << 40;
constexpr uint64_t FAKE_OUTPUT = uint64_t{2} << 40;
constexpr uint64_t FAKE_SCRATCH = uint64_t{3} << 40;
constexpr uint64_t FAKE_PEER = uint64_t{16} << 40;
/// A peer's input, and behind it its output, where windows show them.
constexpr uint64_t FAKE_PEER_WINDOW = uint64_t{1024} << 40;
/// In no window.
constexpr uint64_t FAKE_UNREGISTERED = uint64_t{4} << 40;

#ifndef FAKE_WINDOWS
#define FAKE_WINDOWS 0
#endif
#ifndef FAKE_PROTOCOL
#define FAKE_PROTOCOL COMM_PROTOCOL_UB_CTP
#endif

#endif
