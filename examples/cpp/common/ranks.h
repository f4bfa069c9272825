// A test's frame: a thread a device, each with its rank's communicator and stream.
#ifndef EXAMPLES_RANKS_H
#define EXAMPLES_RANKS_H

#include <acl/acl.h>
#include <hccl/hccl_comm.h>

#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

#include "check.h"

namespace examples {

// Lets threads go on when all have come.
class Meeting {
public:
    explicit Meeting(uint32_t expected) : missing_(expected) {}

    void Wait()
    {
        std::unique_lock<std::mutex> lock(mutex_);
        if (--missing_ == 0) {
            met_.notify_all();
        }
        met_.wait(lock, [this] { return missing_ == 0; });
    }

private:
    std::mutex mutex_;
    std::condition_variable met_;
    uint32_t missing_;
};

// The last rank to be done lets all destroy their communicators: nobody's peer is gone before.
template <typename Body>
int OnRank(const HcclRootInfo& root, uint32_t ranks, uint32_t rank, Meeting& end, const Body& body)
{
    TRY(static_cast<int>(aclrtSetDevice(static_cast<int32_t>(rank))));
    HcclComm comm = nullptr;
    TRY(static_cast<int>(HcclCommInitRootInfo(ranks, &root, rank, &comm)));
    aclrtStream stream = nullptr;
    TRY(static_cast<int>(aclrtCreateStream(&stream)));
    const int result = body(comm, stream, ranks, rank);
    end.Wait();
    TRY(static_cast<int>(HcclCommDestroy(comm)));
    aclrtDestroyStreamForce(stream);
    TRY(static_cast<int>(aclrtResetDevice(static_cast<int32_t>(rank))));
    return result;
}

// Runs `body(comm, stream, ranks, rank)` on every device. Returns 0 if all did.
template <typename Body>
int OnAllRanks(const Body& body)
{
    TRY(static_cast<int>(aclInit(nullptr)));
    uint32_t ranks = 0;
    TRY(static_cast<int>(aclrtGetDeviceCount(&ranks)));
    TRY(static_cast<int>(aclrtSetDevice(0)));
    HcclRootInfo root;
    TRY(static_cast<int>(HcclGetRootInfo(&root)));
    std::vector<int> results(ranks, -1);
    std::vector<std::thread> threads;
    Meeting end(ranks);
    for (uint32_t rank = 0; rank < ranks; ++rank) {
        threads.emplace_back([&, rank] { results[rank] = OnRank(root, ranks, rank, end, body); });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    int failed = 0;
    for (uint32_t rank = 0; rank < ranks; ++rank) {
        if (results[rank] != 0) {
            std::fprintf(stderr, "rank %u failed: %d\n", rank, results[rank]);
            failed = 1;
        }
    }
    TRY(static_cast<int>(aclFinalize()));
    return failed;
}

} // namespace examples

#endif
