// The parts of Boost.Asio this module uses. Include it only from the few .cc files that touch sockets: it is
// heavy. Asio's own code is compiled once, in asio.cc (see CMakeLists.txt).
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
