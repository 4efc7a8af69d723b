#pragma once

namespace quorumlock::bench {

/// Takes OpenSSL's own blocks out of allocations(), which counts them otherwise. Must be called
/// before OpenSSL has allocated anything.
void leave_out_openssl();

}  // namespace quorumlock::bench
