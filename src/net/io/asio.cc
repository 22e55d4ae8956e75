// Boost.Asio's implementation, once for the program.
#include "net/io/asio.h"

#include <boost/asio/impl/src.hpp>
