// For tests that change links, addresses, routes or packet filters: a network namespace of their own.
#pragma once

#include <gtest/gtest.h>
#include <sched.h>

#include <functional>

#include "base/run/thread.h"

namespace flyball::network {

// Runs `body` on a thread in a new network namespace, which has nothing but a loopback device that is down.
// The namespace goes with the thread, and everything in it. Needs root.
inline void InOwnNamespace(const std::function<void()>& body) {
  Thread thread("namespace", [&] {
    ASSERT_EQ(::unshare(CLONE_NEWNET), 0) << "tests of the network need root";
    body();
  });
}

}  // namespace flyball::network
