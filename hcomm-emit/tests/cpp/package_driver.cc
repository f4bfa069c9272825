// Calls a package's host side for one rank, twice, and prints what its kernel queues: a case a line on the standard input.
#include <cstdio>
#include <iostream>
#include <string>

#include "execute.h"
#include "fake_hcomm.h"

using namespace hcomm_op;

namespace {

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
    std::string name;
    while (std::cin >> name) {
        uint32_t pods = 0;
        std::cin >> pods;
        const std::vector<uint64_t> firsts = Numbers(std::cin);
        FakeRank rank;
        rank.ranks = static_cast<uint32_t>(firsts.back());
        for (size_t i = 1; i < firsts.size(); ++i) {
            rank.nodes.push_back(static_cast<uint32_t>(firsts[i] - firsts[i - 1]));
        }
        for (uint32_t i = 0; i < pods; ++i) {
            rank.pods.push_back(rank.ranks / pods);
        }
        Call call;
        uint64_t element = 0;
        uint32_t slots = 0;
        uint32_t by = 0;
        std::cin >> rank.rank >> call.root >> call.src >> call.dst >> element >> rank.hcclBuffer >> slots >> slots >> by >>
            call.counts.largest;
        call.counts.by = static_cast<CountsBy>(by);
        call.counts.of = Numbers(std::cin);
        call.counts.inputStart = Numbers(std::cin);
        call.counts.outputStart = Numbers(std::cin);
        call.input = FAKE_INPUT;
        call.output = FAKE_OUTPUT;
        call.dataType = element == 1 ? HCCL_DATA_TYPE_INT8 : element == 2 ? HCCL_DATA_TYPE_FP16 : HCCL_DATA_TYPE_FP32;
        FakeReset(rank);
        int token = 0;
        for (int i = 0; i < 2; ++i) {
            FakeRegister();
            const HcclResult result = Execute(call, &token, &token);
            std::printf("%sdone %d\n", "", static_cast<int>(result));
        }
        for (uint64_t *buffer : {&call.input, &call.output}) {
            if (FAKE_WINDOWS && call.counts.largest > 0) {
                // One of the buffers is in no window.
                const uint64_t registered = *buffer;
                *buffer = FAKE_UNREGISTERED;
                const HcclResult result = Execute(call, &token, &token);
                *buffer = registered;
                std::printf("%s", result == HCCL_E_PARA ? "" : "fault an unregistered buffer was taken\n");
            }
        }
        FakePrintResources();
        std::printf("end\n");
    }
    return 0;
}
