// What both protocol versions put into an answer's head.
#pragma once

#include <string>
#include <string_view>

#include "base/run/clock.h"

namespace flyball::net {

// The value of a Date header for this moment. Valid until this thread's next call; made once a second.
std::string_view HttpDate(TimePoint now);

// "Not Found" for 404; "" for unknown codes.
std::string_view StatusText(int status);

}  // namespace flyball::net
