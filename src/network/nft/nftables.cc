#include "network/nft/nftables.h"

#include <dlfcn.h>

namespace flyball::network {
namespace {

constexpr char kLibrary[] = "libnftables.so.1";

constexpr unsigned kTerse = 1u << 11;  // NFT_CTX_OUTPUT_TERSE

struct NftContext;  // struct nft_ctx

// The functions of libnftables that are used here, by their names there.
struct Functions {
  NftContext* (*ctx_new)(std::uint32_t flags) = nullptr;
  void (*ctx_free)(NftContext*) = nullptr;
  int (*buffer_output)(NftContext*) = nullptr;
  int (*buffer_error)(NftContext*) = nullptr;
  const char* (*output)(NftContext*) = nullptr;
  const char* (*error)(NftContext*) = nullptr;
  int (*run)(NftContext*, const char* commands) = nullptr;
  void (*set_output_flags)(NftContext*, unsigned flags) = nullptr;
};

template <typename Function>
bool Find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

Result<Functions> Load() {
  // Never closed: the functions are used until the process ends.
  void* const library = ::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    return Unexpected(Error(Reason::kServiceUnavailable, std::string("cannot load ") + kLibrary +
                                                             " (Debian: apt-get install libnftables1)"));
  }
  Functions f;
  const bool found = Find(library, "nft_ctx_new", f.ctx_new) && Find(library, "nft_ctx_free", f.ctx_free) &&
                     Find(library, "nft_ctx_buffer_output", f.buffer_output) &&
                     Find(library, "nft_ctx_buffer_error", f.buffer_error) &&
                     Find(library, "nft_ctx_get_output_buffer", f.output) &&
                     Find(library, "nft_ctx_get_error_buffer", f.error) &&
                     Find(library, "nft_run_cmd_from_buffer", f.run) &&
                     Find(library, "nft_ctx_output_set_flags", f.set_output_flags);
  if (!found)
    return Unexpected(Error(Reason::kServiceUnavailable, std::string(kLibrary) + " lacks a function"));
  return f;
}

class LoadedNftables final : public Nftables {
 public:
  LoadedNftables(const Functions& functions, NftContext* context) : f_(functions), context_(context) {
    f_.buffer_output(context_);
    f_.buffer_error(context_);
  }
  ~LoadedNftables() override { f_.ctx_free(context_); }

  Status Run(const std::string& commands) override {
    if (auto printed = Query(commands); !printed) return Unexpected(printed.error());
    return {};
  }
  Result<std::string> Query(const std::string& commands) override {
    const bool done = f_.run(context_, commands.c_str()) == 0;
    // Both are read each time: reading empties the buffer.
    const std::string output = f_.output(context_), error = f_.error(context_);
    if (!done) return Unexpected(Error(Reason::kInternalError, "nftables: " + error));
    return output;
  }
  Result<std::string> QueryNames(const std::string& commands) override {
    f_.set_output_flags(context_, kTerse);
    auto printed = Query(commands);
    f_.set_output_flags(context_, 0);
    return printed;
  }

 private:
  const Functions f_;
  NftContext* const context_;
};

}  // namespace

Result<std::unique_ptr<Nftables>> Nftables::Open() {
  static const Result<Functions> functions = Load();
  if (!functions) return Unexpected(functions.error());
  NftContext* const context = functions->ctx_new(0);
  if (!context) return Unexpected(Error(Reason::kServiceUnavailable, "cannot talk to nftables"));
  return std::unique_ptr<Nftables>(std::make_unique<LoadedNftables>(*functions, context));
}

}  // namespace flyball::network
