// The SPDY/3.1 side of exec, attach and port-forward.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "net/http/http.h"
#include "net/spdy/spdy_session.h"
#include "node/streams/remote_streams.h"

namespace flyball::node {

// Answers 101 with the first of the client's stream protocols (X-Stream-Protocol-Version) that is `known`, or
// the last of those if it names none. Answers the request itself and returns null if that cannot be.
std::shared_ptr<net::Duplex> AcceptSpdy(const net::Request& request, net::ResponseStream& stream,
                                        const std::vector<std::string_view>& known, std::string_view& chosen);

// As OpenRemoteStreams. A client that has not opened its streams after half a minute is sent away.
void OpenSpdyStreams(const net::Request& request, const std::shared_ptr<net::ResponseStream>& stream,
                     const StreamSelection& selection,
                     std::function<void(std::shared_ptr<RemoteStreams>)> ready);

}  // namespace flyball::node
