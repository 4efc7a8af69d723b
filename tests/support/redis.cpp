#include "support/redis.hpp"

#include <hiredis/hiredis.h>

#include <stdexcept>

#include "support/eventually.hpp"

namespace quorumlock::test {
namespace {

struct FreeReply {
  void operator()(redisReply* reply) const { freeReplyObject(reply); }
};

Reply copied(const redisReply& reply) {
  Reply copy;
  switch (reply.type) {
    case REDIS_REPLY_STATUS: copy.type = Reply::Type::status; break;
    case REDIS_REPLY_ERROR: copy.type = Reply::Type::error; break;
    case REDIS_REPLY_INTEGER: copy.type = Reply::Type::integer; break;
    case REDIS_REPLY_STRING: copy.type = Reply::Type::string; break;
    case REDIS_REPLY_ARRAY: copy.type = Reply::Type::array; break;
    default: return copy;
  }
  if (copy.type == Reply::Type::integer) {
    copy.integer = reply.integer;
  } else if (copy.type == Reply::Type::array) {
    for (std::size_t i = 0; i < reply.elements; ++i) {
      copy.elements.push_back(copied(*reply.element[i]));
    }
  } else {
    copy.text.assign(reply.str, static_cast<std::size_t>(reply.len));
  }
  return copy;
}

redisContext* connect(const std::string& url) {
  const timeval limit{patience.count(), 0};
  const std::string unix_scheme = "unix://";
  if (url.starts_with(unix_scheme)) {
    return redisConnectUnixWithTimeout(url.substr(unix_scheme.size()).c_str(), limit);
  }
  std::string address = url.substr(std::string("redis://").size());
  address.erase(0, address.find('@') + 1);
  const std::size_t colon = address.rfind(':');
  return redisConnectWithTimeout(address.substr(0, colon).c_str(),
                                 std::stoi(address.substr(colon + 1)), limit);
}

}  // namespace

void Redis::Free::operator()(redisContext* context) const {
  redisFree(context);
}

Redis::Redis(const std::string& url) : context_(connect(url)) {
  if (context_ == nullptr || context_->err != 0) {
    throw std::runtime_error("cannot connect to " + url + ": " +
                             (context_ == nullptr ? "no memory" : context_->errstr));
  }
  redisSetTimeout(context_.get(), {patience.count(), 0});
  const std::size_t from = url.find("://") + 3;
  const std::size_t colon = url.find(':', from);
  const std::size_t end = url.find('@', from);
  if (end == url.npos) return;
  const Reply entered =
      (*this)({"AUTH", url.substr(from, colon - from), url.substr(colon + 1, end - colon - 1)});
  if (entered.is_error()) throw std::runtime_error("cannot log in: " + entered.text);
}

void Redis::send(const std::vector<std::string>& words) {
  std::vector<const char*> texts;
  std::vector<std::size_t> sizes;
  for (const std::string& word : words) {
    texts.push_back(word.data());
    sizes.push_back(word.size());
  }
  redisAppendCommandArgv(context_.get(), static_cast<int>(words.size()), texts.data(),
                         sizes.data());
  for (int done = 0; done == 0;) {
    if (redisBufferWrite(context_.get(), &done) != REDIS_OK) {
      throw std::runtime_error("cannot send " + words.front() + ": " + context_->errstr);
    }
  }
}

Reply Redis::read() {
  void* reply = nullptr;
  if (redisGetReply(context_.get(), &reply) != REDIS_OK) {
    throw std::runtime_error(std::string("no reply: ") + context_->errstr);
  }
  const std::unique_ptr<redisReply, FreeReply> mine(static_cast<redisReply*>(reply));
  return copied(*mine);
}

Reply Redis::operator()(const std::vector<std::string>& words) {
  send(words);
  return read();
}

}  // namespace quorumlock::test
