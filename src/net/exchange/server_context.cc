#include "net/exchange/server_context.h"

#include <exception>
#include <optional>

#include "base/observe/log.h"
#include "net/exchange/server_stream.h"

namespace flyball::net {

namespace {

std::string WhatOf(const std::exception_ptr& exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "unknown exception";
  }
}

void ReportFailure(const std::exception_ptr& exception, const Request& request, ServerStream& stream) {
  const std::string path = request.target.substr(0, request.target.find('?'));
  log::Error("a request handler failed",
             {{"method", request.method}, {"path", path}, {"what", WhatOf(exception)}});
  stream.FailIfUnanswered(500, StatusJson(500, "InternalError", "Internal Server Error: " + path));
}

// Finds the quotes and controls that JSON wants escaped. Bytes above 127 pass: messages are our own or
// percent-encoded.
void AppendEscaped(std::string& out, std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (u < 0x20 || u >= 0x7f) {
      out += "\\u00";
      out += {kDigits[u >> 4], kDigits[u & 15]};
    } else {
      out += c;
    }
  }
}

}  // namespace

void Dispatch(const std::shared_ptr<ServerContext>& context, std::shared_ptr<Request> request,
              std::unique_ptr<BodyShare> share, const std::shared_ptr<ServerStream>& stream, Closure done) {
  // The handler's reference: when its last copy goes without an end, the stream is reset.
  std::shared_ptr<ResponseStream> handle(stream.get(), [stream](ResponseStream*) { stream->Abandon(); });
  context->running_handlers.fetch_add(1);
  auto finish = [context, request, stream, share = std::move(share),
                 done = std::move(done)](const std::exception_ptr& exception) {
    if (exception) ReportFailure(exception, *request, *stream);
    context->running_handlers.fetch_sub(1);
    done();
  };
  std::optional<Task<void>> task;
  try {
    task.emplace(context->handler(std::move(request), handle));
  } catch (...) {
    // Only a handler that is no coroutine throws here, before there is a task.
    return finish(std::current_exception());
  }
  handle = nullptr;
  Spawn(std::move(*task), std::move(finish));
}

std::string StatusJson(int code, std::string_view reason, std::string_view message) {
  std::string out = R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":")";
  AppendEscaped(out, message);
  out += R"(","reason":")";
  out += reason;
  out += R"(","code":)";
  out += std::to_string(code);
  out += "}\n";
  return out;
}

}  // namespace flyball::net
