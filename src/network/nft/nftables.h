// Nftables runs commands in the language of nft(8), through libnftables.
//
// The library is loaded at run time, on Open: Debian has no static one, and a server or client that filters
// no packets should not need it. Thread-compatible. Commands apply to the network namespace that the calling
// thread is in when Open is called.
#pragma once

#include <memory>
#include <string>

#include "base/values/result.h"

namespace flyball::network {

class Nftables {
 public:
  // Fails, saying what to install, if the library is not there.
  static Result<std::unique_ptr<Nftables>> Open();

  virtual ~Nftables() = default;
  // Runs the commands as one transaction: all of them take effect at once, or none. The error has the text of
  // nft.
  virtual Status Run(const std::string& commands) = 0;
  // Runs commands that print (list ...) and returns what they print.
  virtual Result<std::string> Query(const std::string& commands) = 0;
  // The same without the elements of sets and maps, which are not even read from the kernel.
  virtual Result<std::string> QueryNames(const std::string& commands) = 0;
};

}  // namespace flyball::network
