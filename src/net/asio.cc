// Boost.Asio's implementation, once for the program.
#include "net/asio.h"

#include <boost/asio/impl/src.hpp>
