// Runs schedules and prints every operation: a case a line on the standard input, its operations and `end` on the
// standard output.
#include <cinttypes>
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>

#include "schedule.h"

using namespace hcomm_op;

std::unique_ptr<Schedule> Make(const std::string &name, const Problem &problem);

namespace {

class Printer : public Queue {
public:
    void ThreadRecord(uint32_t thread, uint32_t onThread, uint32_t notify) override
    {
        std::printf("%u thread-record %u %u\n", thread, onThread, notify);
    }
    void ThreadWait(uint32_t thread, uint32_t notify) override
    {
        std::printf("%u thread-wait %u\n", thread, notify);
    }
    void ChannelRecord(uint32_t thread, uint32_t peer, uint32_t notify) override
    {
        std::printf("%u record %u %u\n", thread, peer, notify);
    }
    void ChannelWait(uint32_t thread, uint32_t peer, uint32_t notify) override
    {
        std::printf("%u wait %u %u\n", thread, peer, notify);
    }
    void Move(uint32_t thread, const Transfer &transfer, const std::vector<Segment> &segments) override
    {
        static const char *const kinds[] = {"copy", "reduce", "write", "write-reduce", "read", "read-reduce"};
        for (const Segment &segment : segments) {
            std::printf("%u %s %u %d %" PRIu64 " %d %" PRIu64 " %" PRIu64 "\n", thread,
                kinds[static_cast<int>(transfer.kind)], transfer.peer, static_cast<int>(transfer.dst), segment.dst,
                static_cast<int>(transfer.src), segment.src, segment.len);
        }
    }
};

std::vector<uint64_t> Numbers(std::istream &in)
{
    size_t size = 0;
    in >> size;
    std::vector<uint64_t> numbers(size);
    for (uint64_t &number : numbers) {
        in >> number;
    }
    return numbers;
}

} // namespace

int main()
{
    std::ios::sync_with_stdio(true);
    std::string name;
    while (std::cin >> name) {
        Problem problem;
        std::cin >> problem.layout.pods;
        for (uint64_t first : Numbers(std::cin)) {
            problem.layout.firstOf.push_back(static_cast<uint32_t>(first));
        }
        uint32_t by = 0;
        std::cin >> problem.rank >> problem.root >> problem.src >> problem.dst >> problem.element >>
            problem.hcclBuffer >> problem.inputSlots >> problem.outputSlots >> by >> problem.counts.largest;
        problem.counts.by = static_cast<CountsBy>(by);
        problem.counts.of = Numbers(std::cin);
        problem.counts.inputStart = Numbers(std::cin);
        problem.counts.outputStart = Numbers(std::cin);
        Printer printer;
        std::unique_ptr<Schedule> schedule = Make(name, problem);
        if (!schedule->Run(printer)) {
            std::printf("error %s\n", schedule->Error().c_str());
        }
        std::printf("end\n");
    }
    return 0;
}
