// Rules about request heads that both protocol versions share.
#pragma once

#include <string>
#include <string_view>

#include "net/exchange/server_stream.h"
#include "net/http/http.h"

namespace flyball::net {

bool EqualsIgnoringCase(std::string_view a, std::string_view b);
// True if one of the comma-separated words of `list` is `word`, whatever the case; parameters after ';' do
// not count.
bool HasToken(std::string_view list, std::string_view word);

// What makes the head of an HTTP/1.1 request unacceptable, or null.
const char* FaultOfHead(std::string_view method, const Headers& headers, int version);
// Turns absolute-form ("http://host/path") into origin-form; false if the result does not start with '/', or
// holds bytes that no target has. Nothing is decoded: "/a/../b%2f" stays as it came.
bool NormalizeTarget(std::string& target);

bool AcceptsGzip(const Headers& headers);
void SetWebSocketTraits(const Headers& headers, ServerStream::Traits& traits);

// Reason and message of the Status for the refusals of this module (413, 431, 400).
std::string_view ReasonOf(int status);
std::string MessageOf(int status, const ServerLimits& limits);

}  // namespace flyball::net
