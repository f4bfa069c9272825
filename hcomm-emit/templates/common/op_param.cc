#include "op_param.h"

namespace hcomm_op {
namespace {

constexpr uint64_t MAGIC = 0x68636f6d6d6f7031;

/// Reads words one after the other, and none behind the last.
class Reader {
public:
    Reader(const uint64_t *words, uint64_t size) : words_(words), left_(size) {}

    uint64_t Next()
    {
        if (left_ == 0) {
            good_ = false;
            return 0;
        }
        --left_;
        return *words_++;
    }

    /// How many of something follow, each of `width` words.
    uint64_t Length(uint64_t width)
    {
        const uint64_t length = Next();
        if (length > left_ / width) {
            good_ = false;
            return 0;
        }
        return length;
    }

    bool Ends() const
    {
        return good_ && left_ == 0;
    }

private:
    const uint64_t *words_;
    uint64_t left_;
    bool good_ = true;
};

} // namespace

std::vector<uint64_t> Pack(const Context &context)
{
    std::vector<uint64_t> words{MAGIC, context.rank, context.root, context.src, context.dst, context.hcclBuffer,
        context.hcclBufferSize, context.startNotify, context.layout.pods, context.layout.firstOf.size()};
    words.insert(words.end(), context.layout.firstOf.begin(), context.layout.firstOf.end());
    words.push_back(context.threads.size());
    words.insert(words.end(), context.threads.begin(), context.threads.end());
    words.push_back(context.links.size());
    for (const Link &link : context.links) {
        words.insert(words.end(), {link.peer, link.channel, link.buffer});
    }
    return words;
}

bool Unpack(const uint64_t *words, uint64_t size, Context &context)
{
    Reader reader(words, size);
    if (words == nullptr || reader.Next() != MAGIC) {
        return false;
    }
    context.rank = static_cast<uint32_t>(reader.Next());
    context.root = static_cast<uint32_t>(reader.Next());
    context.src = static_cast<uint32_t>(reader.Next());
    context.dst = static_cast<uint32_t>(reader.Next());
    context.hcclBuffer = reader.Next();
    context.hcclBufferSize = reader.Next();
    context.startNotify = static_cast<uint32_t>(reader.Next());
    context.layout.pods = static_cast<uint32_t>(reader.Next());
    for (uint64_t left = reader.Length(1); left > 0; --left) {
        context.layout.firstOf.push_back(static_cast<uint32_t>(reader.Next()));
    }
    for (uint64_t left = reader.Length(1); left > 0; --left) {
        context.threads.push_back(reader.Next());
    }
    for (uint64_t left = reader.Length(3); left > 0; --left) {
        const uint32_t peer = static_cast<uint32_t>(reader.Next());
        const uint64_t channel = reader.Next();
        context.links.push_back({peer, channel, reader.Next()});
    }
    return reader.Ends() && !context.threads.empty() && context.layout.pods > 0 &&
           context.rank < context.layout.Ranks();
}

} // namespace hcomm_op
