// The protobuf wire format: tags, varints, lengths. For the objects of the API (api/wire) and the small
// messages of gRPC services. Confined to one thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace flyball {

enum class WireType : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

// Reads one message. After the first malformed thing ok() is false and everything reads as zero.
class WireReader {
 public:
  explicit WireReader(std::string_view data) : rest_(data) {}

  // The next field's number and type; false at the end or when malformed.
  bool NextField();
  std::uint32_t number() const { return number_; }
  WireType type() const { return type_; }
  bool ok() const { return ok_; }
  bool AtEnd() const { return rest_.empty(); }

  std::uint64_t Varint();
  std::uint64_t Fixed64();
  std::uint32_t Fixed32();
  std::string_view Bytes();
  // A field this reader's owner does not know.
  void Skip();

 private:
  bool Fail();
  std::uint64_t Fixed(std::size_t bytes);

  std::string_view rest_;
  std::uint32_t number_ = 0;
  WireType type_ = WireType::kVarint;
  bool ok_ = true;
};

// Appends fields to a message.
class WireWriter {
 public:
  explicit WireWriter(std::string& out) : out_(out) {}

  void Varint(std::uint32_t number, std::uint64_t value);
  void Fixed64(std::uint32_t number, std::uint64_t value);
  void Bytes(std::uint32_t number, std::string_view bytes);

 private:
  void Tag(std::uint32_t number, WireType type);
  void RawVarint(std::uint64_t value);

  std::string& out_;
};

}  // namespace flyball
