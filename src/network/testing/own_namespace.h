// For tests that change links, addresses, routes or packet filters: a network namespace of their own.
#pragma once

#include <gtest/gtest.h>
#include <sched.h>

#include <fstream>
#include <functional>

#include "base/run/thread.h"

namespace flyball::network {

// Runs `body` on a thread in a new network namespace, which has nothing but a loopback device that is down,
// and is no router, whatever the machine is: a new namespace begins with the machine's settings. The
// namespace goes with the thread, and everything in it. Needs root.
inline void InOwnNamespace(const std::function<void()>& body) {
  Thread thread("namespace", [&] {
    ASSERT_EQ(::unshare(CLONE_NEWNET), 0) << "tests of the network need root";
    std::ofstream("/proc/sys/net/ipv4/ip_forward") << "0";
    body();
  });
}

}  // namespace flyball::network
