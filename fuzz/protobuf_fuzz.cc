// Protobuf bodies: any bytes are decoded or refused; what decodes survives being encoded and decoded again.
// The first byte chooses the type.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "api/wire/protobuf.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace flyball;
  if (size == 0) return 0;
  const auto types = api::BuiltinTypes();
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto kinds = api::BuiltinKinds();
  const api::TypeInfo& type = *kinds[data[0] % kinds.size()].type;
  (void)api::DecodeProtobuf(bytes, type);
  (void)api::DecodeProtobufMessage(bytes, *types[data[0] % types.size()]);
  const auto object = api::DecodeProtobufMessage(bytes, type);
  if (!object) return 0;
  const auto again = api::DecodeProtobufMessage(api::EncodeProtobufMessage(*object, type), type);
  if (!again || !(*again == *object)) std::abort();
  return 0;
}
