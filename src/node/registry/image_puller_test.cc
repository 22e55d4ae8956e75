// Pulling from a registry in this process that behaves, and from ones that do not.
#include "node/registry/image_puller.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/files/temporary_folder.h"
#include "json/json.h"
#include "net/server/http_server.h"
#include "net/tls/pki.h"
#include "node/registry/registry_auth.h"
#include "node/testing/tar_maker.h"

namespace flyball::node {
namespace {

namespace fs = std::filesystem;
using net::Headers;
using Answer = std::shared_ptr<net::ResponseStream>;

struct Content {
  std::string type, bytes;
};

// Serves content by path; what a test puts in `hook` goes before. Thread-safe.
class TestRegistry {
 public:
  using Hook = std::function<bool(const net::Request& request, const Answer& answer)>;

  TestRegistry() {
    auto started = net::HttpServer::Start({}, [this](std::shared_ptr<net::Request> request, Answer answer) {
      return Serve(std::move(request), std::move(answer));
    });
    EXPECT_TRUE(started) << started.error().message();
    server_ = std::move(*started);
  }
  std::string host() const { return "127.0.0.1:" + std::to_string(server_->port()); }
  std::string url() const { return "http://" + host(); }
  void Put(const std::string& path, Content content) {
    MutexLock lock(mu_);
    content_[path] = std::move(content);
  }
  // An image "app:1" of one layer; its manifest's digest.
  std::string PutImage(const std::string& layer, const std::string& diff_id, std::int64_t claimed = -1) {
    const std::string config =
        json::Write(json::Object{{"architecture", std::string(MachineArchitecture())},
                                 {"os", "linux"},
                                 {"rootfs", json::Object{{"diff_ids", json::Array{diff_id}}}}});
    const ImageManifest manifest{
        .config = {.media_type = kOciConfigType, .digest = DigestOf(config), .size = std::ssize(config)},
        .layers = {{.media_type = kOciLayerType,
                    .digest = DigestOf(layer),
                    .size = claimed < 0 ? std::ssize(layer) : claimed}}};
    layer_path = "/v2/app/blobs/" + DigestOf(layer);
    Put("/v2/app/blobs/" + DigestOf(config), {"application/octet-stream", config});
    Put(layer_path, {"application/octet-stream", layer});
    const std::string text = WriteImageManifest(manifest);
    Put("/v2/app/manifests/1", {kOciManifestType, text});
    Put("/v2/app/manifests/" + DigestOf(text), {kOciManifestType, text});
    return DigestOf(text);
  }
  std::vector<std::string> seen() {
    MutexLock lock(mu_);
    return seen_;
  }

  Hook hook;  // set before the first request
  std::string layer_path;

 private:
  Task<void> Serve(std::shared_ptr<net::Request> request, Answer answer) {
    const std::string path = request->target.substr(0, request->target.find('?'));
    Content content;
    bool found = false;
    {
      MutexLock lock(mu_);
      seen_.push_back(request->target + " " + std::string(request->headers.Get("authorization")) +
                      std::string(request->headers.Get("range")));
      const auto at = content_.find(path);
      found = at != content_.end();
      if (found) content = at->second;
    }
    if (hook && hook(*request, answer)) co_return;
    if (!found)
      answer->Send(404, {}, "no such content");
    else
      answer->Send(200, {{"content-type", content.type}}, content.bytes);
  }

  Mutex mu_;
  std::map<std::string, Content> content_ FLYBALL_GUARDED_BY(mu_);
  std::vector<std::string> seen_ FLYBALL_GUARDED_BY(mu_);
  std::unique_ptr<net::HttpServer> server_;
};

class ImagePullerTest : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "unpacking layers needs root";
    store_ = std::make_unique<ImageStore>(*ImageStore::Open(At("images"), {.max_bytes = 1 << 24}));
  }
  std::string At(const std::string& name) const { return (folder_.path() / name).string(); }
  Result<StoredImage> Pull(const std::string& name,
                           const std::vector<RegistryCredentials>& credentials = {}) {
    ImagePullerOptions options;
    options.registries_file = At("registries.yaml");
    options.http.stall = std::chrono::seconds(2);
    ImagePuller puller(*store_, timers_, options);
    return puller.Pull(*ImageReference::Parse(name), credentials);
  }
  Result<StoredImage> PullApp(const std::vector<RegistryCredentials>& credentials = {}) {
    return Pull(registry_.host() + "/app:1", credentials);
  }
  // Why a pull failed; nothing may be left of it.
  std::string Refused(const std::vector<RegistryCredentials>& credentials = {}) {
    const auto pulled = PullApp(credentials);
    EXPECT_TRUE(store_->blobs().List().empty()) << "something was left behind";
    EXPECT_TRUE(fs::is_empty(At("images/layers"))) << "something was left behind";
    EXPECT_TRUE(fs::is_empty(At("images/incoming"))) << "something was left behind";
    return pulled ? "pulled" : pulled.error().message();
  }
  bool Fails(const std::string& why) {
    const std::string message = Refused();
    if (message.find(why) != std::string::npos) return true;
    ADD_FAILURE() << message;
    return false;
  }
  std::size_t RequestsOf(const std::string& start) {
    std::size_t count = 0;
    for (const auto& request : registry_.seen()) count += request.starts_with(start);
    return count;
  }

  const std::string layer_ = TarMaker().File("hello", "world").Bytes();
  TemporaryFolder folder_ = *TemporaryFolder::Make();
  std::unique_ptr<ImageStore> store_;
  ThreadPool timers_{"timers", 1};
  TestRegistry registry_;
};

TEST_F(ImagePullerTest, PullsByTagAndByDigest) {
  const std::string digest = registry_.PutImage(layer_, DigestOf(layer_));
  const auto image = PullApp();
  ASSERT_TRUE(image) << image.error().message();
  EXPECT_EQ(image->digest, digest);
  EXPECT_TRUE(image->credentials.empty());
  EXPECT_TRUE(fs::exists(image->layers[0] + "/hello"));
  const auto again = Pull(registry_.host() + "/app@" + digest);
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(RequestsOf(registry_.layer_path), 1u) << "what is here is not fetched again";
}

TEST_F(ImagePullerTest, CountsWhatItFetches) {
  registry_.PutImage(layer_, DigestOf(layer_));
  ImagePuller puller(*store_, timers_, {.registries_file = At("registries.yaml")});
  PullProgress progress;
  std::vector<std::string> layers;
  progress.on_layer = [&](const ContentDescriptor& layer) { layers.push_back(layer.digest); };
  const auto pulled = puller.Pull(*ImageReference::Parse(registry_.host() + "/app:1"), {}, &progress);
  ASSERT_TRUE(pulled) << pulled.error().message();
  EXPECT_EQ(progress.layers, 2);  // and the configuration
  EXPECT_EQ(progress.layers_fetched, 2);
  EXPECT_EQ(layers.size(), 2U);
  EXPECT_GT(progress.bytes, static_cast<std::int64_t>(layer_.size()));
  EXPECT_EQ(progress.bytes_fetched, progress.bytes);
}

TEST_F(ImagePullerTest, UnderstandsGzipAndZstd) {
  for (const auto kind : {TarMaker::Compression::kGzip, TarMaker::Compression::kZstd}) {
    const std::string layer = TarMaker(kind).File("hello", "world").Bytes();
    const auto plain = ArchiveReader::OfBytes(layer, 1 << 20);
    ASSERT_TRUE(plain);
    while (*(*plain)->Next()) {
    }
    registry_.PutImage(layer, *(*plain)->UncompressedDigest());
    const auto image = PullApp();
    ASSERT_TRUE(image) << image.error().message();
  }
}

TEST_F(ImagePullerTest, ChoosesThisMachineFromAnIndex) {
  const std::string digest = registry_.PutImage(layer_, DigestOf(layer_));
  const auto entry = [](const std::string& of, const std::string& architecture) {
    return json::Object{{"mediaType", kOciManifestType},
                        {"digest", of},
                        {"size", 1},
                        {"platform", json::Object{{"os", "linux"}, {"architecture", architecture}}}};
  };
  const auto index = [&](const std::string& architecture) {
    return json::Write(json::Object{
        {"schemaVersion", 2},
        {"mediaType", kDockerIndexType},
        {"manifests", json::Array{entry(DigestOf("other"), "mips"), entry(digest, architecture)}}});
  };
  const std::string good = index(std::string(MachineArchitecture()));
  registry_.Put("/v2/app/manifests/1", {kDockerIndexType, good});
  const auto image = PullApp();
  ASSERT_TRUE(image) << image.error().message();
  EXPECT_EQ(image->manifest_digest, digest);
  EXPECT_EQ(image->digest, DigestOf(good));
  ASSERT_TRUE(store_->Remove(image->name));
  registry_.Put("/v2/app/manifests/1", {kDockerIndexType, index("vax")});
  EXPECT_TRUE(Fails("no match for platform in manifest"));
}

TEST_F(ImagePullerTest, SaysWhatIsNotThere) {
  EXPECT_EQ(Refused(), "failed to pull and unpack image \"" + registry_.host() +
                           "/app:1\": failed to resolve reference \"" + registry_.host() +
                           "/app:1\": " + registry_.host() + "/app:1: not found");
  const auto nobody = Pull("127.0.0.1:1/app:1");
  ASSERT_FALSE(nobody);
  EXPECT_NE(
      nobody.error().message().find("failed to do request: Get \"http://127.0.0.1:1/v2/app/manifests/1\""),
      std::string::npos)
      << nobody.error().message();
}

TEST_F(ImagePullerTest, RefusesContentThatHasAnotherDigest) {
  registry_.PutImage(layer_, DigestOf(layer_));
  const std::string other = TarMaker().File("hello", "w0rld").Bytes();
  ASSERT_EQ(other.size(), layer_.size());
  registry_.Put(registry_.layer_path, {"application/octet-stream", other});
  EXPECT_TRUE(Fails("expected " + DigestOf(layer_)));
}

TEST_F(ImagePullerTest, RefusesAManifestThatHasAnotherDigest) {
  const std::string digest = registry_.PutImage(layer_, DigestOf(layer_));
  registry_.Put("/v2/app/manifests/" + DigestOf("x"), {kOciManifestType, "{}"});
  const auto wrong = Pull(registry_.host() + "/app@" + DigestOf("x"));
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message().find("expected " + DigestOf("x")), std::string::npos);
}

TEST_F(ImagePullerTest, RefusesLayersThatAreNotWhatTheConfigurationSays) {
  registry_.PutImage(layer_, DigestOf("something else"));
  EXPECT_TRUE(Fails("its image says"));
}

TEST_F(ImagePullerTest, RefusesBodiesWithoutEnd) {
  // Longer than the manifest says.
  registry_.PutImage(layer_, DigestOf(layer_), std::ssize(layer_) - 1);
  EXPECT_TRUE(Fails("content is larger"));
  // Larger than this node takes at all.
  registry_.PutImage(layer_, DigestOf(layer_), std::int64_t{1} << 40);
  EXPECT_TRUE(Fails("bytes it may have"));
  // A document without end.
  registry_.hook = [](const net::Request& request, const Answer& answer) {
    if (!request.target.ends_with("/manifests/1")) return false;
    answer->Begin(200, {{"content-type", kOciManifestType}});
    const std::string block(1 << 20, ' ');
    for (int i = 0; i < 8; ++i) answer->Write(MakeBytes(block));
    answer->End();
    return true;
  };
  EXPECT_TRUE(Fails("larger than 4194304 bytes"));
}

TEST_F(ImagePullerTest, GoesOnWhereAConnectionBroke) {
  registry_.PutImage(layer_, DigestOf(layer_));
  const std::size_t half = layer_.size() / 2;
  registry_.hook = [&](const net::Request& request, const Answer& answer) {
    if (request.target != registry_.layer_path) return false;
    if (request.headers.Get("range").empty()) {
      answer->Send(200, {}, layer_.substr(0, half));
    } else {
      EXPECT_EQ(request.headers.Get("range"), "bytes=" + std::to_string(half) + "-");
      answer->Send(206, {{"content-range", "bytes " + std::to_string(half) + "-9/10"}}, layer_.substr(half));
    }
    return true;
  };
  const auto image = PullApp();
  ASSERT_TRUE(image) << image.error().message();
}

TEST_F(ImagePullerTest, BeginsAgainWhereARegistryKnowsNoRanges) {
  registry_.PutImage(layer_, DigestOf(layer_));
  int times = 0;
  registry_.hook = [&](const net::Request& request, const Answer& answer) {
    if (request.target != registry_.layer_path || times++ > 0) return false;
    answer->Send(200, {}, layer_.substr(0, 100));
    return true;
  };
  EXPECT_TRUE(PullApp());
}

TEST_F(ImagePullerTest, GivesUpOnLayersThatNeverEnd) {
  registry_.PutImage(layer_, DigestOf(layer_));
  registry_.hook = [&](const net::Request& request, const Answer& answer) {
    if (request.target != registry_.layer_path) return false;
    answer->Send(200, {}, layer_.substr(0, 10));
    return true;
  };
  EXPECT_TRUE(Fails("ends after 10 of"));
  EXPECT_LE(RequestsOf(registry_.layer_path), 6u);
}

TEST_F(ImagePullerTest, RefusesAnotherPartThanItAskedFor) {
  registry_.PutImage(layer_, DigestOf(layer_));
  registry_.hook = [&](const net::Request& request, const Answer& answer) {
    if (request.target != registry_.layer_path) return false;
    const bool first = request.headers.Get("range").empty();
    answer->Send(first ? 200 : 206, {{"content-range", "bytes 3-9/10"}}, layer_.substr(0, 10));
    return true;
  };
  EXPECT_TRUE(Fails("sends another part"));
}

TEST_F(ImagePullerTest, DoesNotWaitForThoseWhoSendNothing) {
  registry_.PutImage(layer_, DigestOf(layer_));
  std::vector<Answer> kept;
  Mutex mu;
  registry_.hook = [&](const net::Request& request, const Answer& answer) {
    if (!request.target.ends_with("/manifests/1")) return false;
    answer->Begin(200, {});
    MutexLock lock(mu);
    kept.push_back(answer);
    return true;
  };
  EXPECT_TRUE(Fails("no data was received for too long"));
  MutexLock lock(mu);
  kept.clear();
}

TEST_F(ImagePullerTest, StopsWhenItIsTold) {
  registry_.PutImage(layer_, DigestOf(layer_));
  std::vector<Answer> kept;
  Mutex mu;
  ImagePuller puller(*store_, timers_, {.registries_file = At("registries.yaml")});
  registry_.hook = [&](const net::Request& request, const Answer& answer) {
    if (request.target != registry_.layer_path) return false;
    answer->Begin(200, {});
    {
      MutexLock lock(mu);
      kept.push_back(answer);
    }
    puller.Stop();
    return true;
  };
  const auto pulled = puller.Pull(*ImageReference::Parse(registry_.host() + "/app:1"), {});
  ASSERT_FALSE(pulled);
  EXPECT_NE(pulled.error().message().find("the pull was stopped"), std::string::npos);
  MutexLock lock(mu);
  kept.clear();
}

TEST_F(ImagePullerTest, FollowsRedirectsWithoutSayingWhoItIs) {
  registry_.PutImage(layer_, DigestOf(layer_));
  TestRegistry elsewhere;
  elsewhere.Put("/data", {"application/octet-stream", layer_});
  registry_.hook = [&](const net::Request& request, const Answer& answer) {
    const bool known = request.headers.Get("authorization") == "Basic " + net::Base64Encode("u:p");
    if (!known) answer->Send(401, {{"www-authenticate", "Basic realm=\"r\""}}, "");
    if (!known || request.target != registry_.layer_path) return !known;
    answer->Send(307, {{"location", elsewhere.url() + "/data"}}, "");
    return true;
  };
  const auto image = PullApp({{.registry = registry_.host(), .user = "u", .password = "p"}});
  ASSERT_TRUE(image) << image.error().message();
  EXPECT_EQ(elsewhere.seen(), std::vector<std::string>{"/data "});
}

TEST_F(ImagePullerTest, GivesUpOnRedirectsWithoutEnd) {
  registry_.PutImage(layer_, DigestOf(layer_));
  registry_.hook = [&](const net::Request& request, const Answer& answer) {
    answer->Send(302, {{"location", request.target + "x"}}, "");
    return true;
  };
  EXPECT_TRUE(Fails("stopped after 10 redirects"));
  registry_.hook = [&](const net::Request&, const Answer& answer) {
    answer->Send(302, {{"location", "file:///etc/shadow"}}, "");
    return true;
  };
  EXPECT_TRUE(Fails("unsupported protocol scheme"));
}

TEST_F(ImagePullerTest, AsksTheTokenServer) {
  registry_.PutImage(layer_, DigestOf(layer_));
  registry_.hook = [&](const net::Request& request, const Answer& answer) {
    if (request.target.starts_with("/token?")) {
      const bool known = request.headers.Get("authorization") == "Basic " + net::Base64Encode("u:p");
      EXPECT_NE(request.target.find("service=reg%20one"), std::string::npos) << request.target;
      EXPECT_NE(request.target.find("scope=repository%3Aapp%3Apull"), std::string::npos) << request.target;
      answer->Send(known ? 200 : 401, {}, R"({"access_token":"abc","expires_in":300})");
      return true;
    }
    if (request.headers.Get("authorization") == "Bearer abc") return false;
    answer->Send(401,
                 {{"www-authenticate", "Bearer realm=\"" + registry_.url() + "/token\",service=\"reg one\""}},
                 "");
    return true;
  };
  EXPECT_TRUE(Fails("pull access denied, repository does not exist or may require authorization"));
  const auto image =
      PullApp({{.registry = registry_.host(), .user = "x", .password = "wrong", .of_pod = true},
               {.registry = registry_.host(), .user = "u", .password = "p", .of_pod = true}});
  ASSERT_TRUE(image) << image.error().message();
  EXPECT_EQ(image->credentials.size(), 1u) << "it is for those who have the credentials";
}

TEST_F(ImagePullerTest, DoesNotAskForTokensForEver) {
  registry_.PutImage(layer_, DigestOf(layer_));
  registry_.hook = [&](const net::Request& request, const Answer& answer) {
    if (request.target.starts_with("/token?"))
      answer->Send(200, {}, R"({"token":"abc"})");
    else
      answer->Send(401, {{"www-authenticate", "Bearer realm=\"" + registry_.url() + "/token\""}}, "");
    return true;
  };
  EXPECT_TRUE(Fails("401"));
  EXPECT_EQ(RequestsOf("/token"), 1u);
}

TEST_F(ImagePullerTest, TokensThatAreNoneAreRefused) {
  registry_.PutImage(layer_, DigestOf(layer_));
  registry_.hook = [&](const net::Request& request, const Answer& answer) {
    if (request.target.starts_with("/token?"))
      answer->Send(200, {}, R"({"token":"a\r\nx-evil: 1"})");
    else
      answer->Send(401, {{"www-authenticate", "Bearer realm=\"" + registry_.url() + "/token\""}}, "");
    return true;
  };
  EXPECT_TRUE(Fails("has no token"));
}

TEST_F(ImagePullerTest, AsksMirrorsFirstAndTellsThemNothing) {
  registry_.PutImage(layer_, DigestOf(layer_));
  TestRegistry away;
  ASSERT_TRUE(folder_.Write("registries.yaml", "mirrors: {\"" + away.host() +
                                                   "\": {endpoint: [\"http://127.0.0.1:1\", \"" +
                                                   registry_.url() + "\"]}}"));
  registry_.hook = [](const net::Request& request, const Answer&) {
    EXPECT_EQ(request.headers.Get("authorization"), "");
    return false;
  };
  const auto image =
      Pull(away.host() + "/app:1", {{.registry = away.host(), .user = "u", .password = "p", .of_pod = true}});
  ASSERT_TRUE(image) << image.error().message();
  EXPECT_TRUE(away.seen().empty());
  EXPECT_EQ(RequestsOf("/v2/app/manifests/1?ns=127.0.0.1%3A"), 1u);
}

TEST(RegistryAuthTest, ReadsChallenges) {
  using Challenges = std::vector<AuthChallenge>;
  EXPECT_EQ(ParseChallenges({R"(Bearer realm="https://a/t?x=1",service="s, t",scope="repository:x:pull")"}),
            (Challenges{{.scheme = "bearer",
                         .realm = "https://a/t?x=1",
                         .service = "s, t",
                         .scope = "repository:x:pull"}}));
  EXPECT_EQ(ParseChallenges({R"(Basic realm="a\"b", Bearer realm=c)"}),
            (Challenges{{.scheme = "basic", .realm = "a\"b"}, {.scheme = "bearer", .realm = "c"}}));
  EXPECT_EQ(ParseChallenges({"", ",,,", "=", "\"", "Negotiate"}), (Challenges{{.scheme = "negotiate"}}));
  EXPECT_EQ(ParseChallenges({"Bearer realm=\"unclosed"}),
            (Challenges{{.scheme = "bearer", .realm = "unclosed"}}));
}

}  // namespace
}  // namespace flyball::node
