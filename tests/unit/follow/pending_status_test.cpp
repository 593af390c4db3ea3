// What a status and a warning say about a job that does not run: docs/cluster.md, What pending and failing mean.
#include "follow/pending_status.h"

#include "follow/pending_clock.h"
#include "job_story.h"

using namespace trainstep;
using namespace trainstep::follow;
using namespace trainstep::follow::test;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;
using Kind = Pending::Kind;

namespace {

std::optional<Pending> of_pod(Json status, const std::string& node = "node-1") {
  return pending_by_status(Member{.name = "worker-1"}, job_types::read_pod(trainstep::test::pod("p", "1", std::move(status), node)));
}

std::optional<Pending> of_event(const std::string& reason, const std::string& message) {
  return pending_by_warning(WarningSeen{"PyTorchJob digits", reason, message});
}

}  // namespace

TEST_CASE("pods that wait: why, and for how long that may last") {
  struct Row {
    Json status;
    std::string node;
    Kind kind;
    std::optional<Duration> limit;
    std::string what;
  };
  const Json sidecar_pull =
      status("Pending",
             Json::array({container(waiting("ContainerCreating")), container(waiting("ErrImagePull", "not found"), 0, Json::object(), "log-agent")}));
  const Json init_pull =
      status("Pending", Json::array({container(waiting("PodInitializing"))}),
             Json::array({container(waiting("ImagePullBackOff", "Back-off pulling image \"alpine:3.10\""), 0, Json::object(), "init-pytorch")}));
  const Json init_crash = status("Pending", Json::array({container(waiting("PodInitializing"))}),
                                 Json::array({container(waiting("CrashLoopBackOff"), 2, terminated(1), "init-pytorch")}));
  const Row rows[] = {
      {waits("InvalidImageName", "couldn't parse image name \"a b\": invalid reference format"), "node-1", Kind::image_name, 0s,
       "worker-1: invalid image name: couldn't parse image name \"a b\""},
      {waits("ErrImagePull", "rpc error: code = NotFound desc = not found"), "node-1", Kind::image, 5min,
       "worker-1: cannot pull the image: rpc error"},
      {waits("ImagePullBackOff"), "node-1", Kind::image, 5min, "image_pull_secrets"},
      {waits("ErrImageNeverPull", "Container image \"x\" is not present with pull policy of Never"), "node-1", Kind::image, 5min,
       "pull policy of Never"},
      {sidecar_pull, "node-1", Kind::image, 5min, "not found"},
      {init_pull, "node-1", Kind::image, 5min, "alpine:3.10"},
      {waits("CreateContainerConfigError", "secret \"keys\" not found"), "node-1", Kind::configuration, 2min,
       "worker-1: cannot create the container: secret \"keys\" not found"},
      {waits("CreateContainerError", "no command specified"), "node-1", Kind::configuration, 2min, "no command specified"},
      {unscheduled("0/3 nodes are available: persistentvolumeclaim \"data\" not found. preemption: 0/3 nodes are available"), "", Kind::claim, 5min,
       "worker-1: 0/3 nodes are available: persistentvolumeclaim \"data\" not found"},
      {unscheduled(), "", Kind::unschedulable, {}, "worker-1 cannot be scheduled: 0/5 nodes are available: 5 Insufficient cpu."},
      {unscheduled("0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims."), "", Kind::unschedulable, {}, "unbound immediate"},
      {init_crash, "node-1", Kind::initializing, {}, "worker-1: init container init-pytorch failed (exit code 1); restarting it"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.what);
    const auto pending = of_pod(row.status, row.node);
    REQUIRE(pending);
    CHECK(pending->kind == row.kind);
    CHECK(pending->limit == row.limit);
    CHECK(pending->verdict_class == VerdictClass::input);
    CHECK_THAT(pending->what(), Contains(row.what));
  }
}

TEST_CASE("pods that only take their time, run, or have ended, are not pending") {
  const auto restarting_sidecar =
      status("Running", Json::array({container(running())}), Json::array({container(waiting("CrashLoopBackOff"), 3, terminated(1), "log-agent")}));
  auto object = trainstep::test::pod("p", "1", restarting_sidecar);
  object["spec"]["initContainers"] = Json::array({{{"name", "log-agent"}, {"restartPolicy", "Always"}}});
  CHECK_FALSE(pending_by_status(Member{.name = "m"}, job_types::read_pod(object)));
  for (const auto& pod : {creating(), runs(), succeeded(), failed(1), crash_loop(3, 1), evicted_early(), Json::object(), waits("PodInitializing"),
                          status("Pending", Json::array())}) {
    CAPTURE(pod.dump());
    CHECK_FALSE(of_pod(pod));
  }
  CHECK_FALSE(of_pod(unscheduled(), "node-1"));  // its place was found meanwhile
  auto going = job_types::read_pod(trainstep::test::pod("p", "1", waits("ErrImagePull")));
  going.deleting = true;
  CHECK_FALSE(pending_by_status(Member{.name = "m"}, going));
}

TEST_CASE("warnings about pods that do not exist") {
  struct Row {
    std::string reason, message;
    Kind kind;
    std::optional<Duration> limit;
    VerdictClass verdict_class;
    std::string what;
  };
  using enum VerdictClass;
  const Row rows[] = {
      {"ValidationError", "Found validation errors: spec.mpiReplicaSpecs[Worker].replicas: Required value", Kind::refused, 0s, input,
       "PyTorchJob digits: rejected by its operator: Found validation errors"},
      {"MPIJobFailedValidation", "MPIJob is not valid because of …", Kind::refused, 0s, input, "rejected by its operator"},
      {"FailedCreate",
       "Error creating: pods \"digits-x7k2p\" is forbidden: exceeded quota: none, requested: pods=1, used: pods=0, limited: pods=0",
       Kind::quota,
       {},
       input,
       "its pods are waiting for quota: exceeded quota: none, requested: pods=1, used: pods=0, limited: pods=0"},
      {"FailedCreatePod",
       "Error creating: pods \"digits-master-0\" is forbidden: exceeded quota: gpus, requested: requests.nvidia.com/gpu=8",
       Kind::quota,
       {},
       input,
       "exceeded quota: gpus"},
      {"FailedCreatePod", "Error creating: admission webhook \"policy.example\" denied the request: no latest tags", Kind::pods_refused, 2min, input,
       "its pods are rejected: admission webhook \"policy.example\" denied the request: no latest tags"},
      {"FailedCreate",
       "Error creating: pods \"digits-x7k2p\" is forbidden: violates PodSecurity \"restricted:latest\": allowPrivilegeEscalation != false",
       Kind::pods_refused, 2min, input, "violates PodSecurity"},
      {"FailedCreate",
       "Error creating: Internal error occurred: failed calling webhook \"inject.example\": failed to call webhook: dial tcp 10.0.0.7:443: connect: "
       "connection refused",
       Kind::webhook, 5min, system, "cannot create its pods: Internal error occurred"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.message);
    const auto pending = of_event(row.reason, row.message);
    REQUIRE(pending);
    CHECK(pending->kind == row.kind);
    CHECK(pending->limit == row.limit);
    CHECK(pending->verdict_class == row.verdict_class);
    CHECK_THAT(pending->what(), Contains(row.what));
  }
}

TEST_CASE("transient problems are distinguished from final ones by the messages of registries, runtimes and the control plane") {
  const std::pair<const char*, const char*> pass[] = {
      {"ErrImagePull", "rpc error: code = Unavailable desc = error reading from server: EOF"},
      {"ErrImagePull",
       "failed to resolve reference \"r/a:1\": unexpected status from HEAD request to https://r/v2/a/manifests/1: 503 Service Unavailable"},
      {"ErrImagePull", "failed to pull and unpack image: httpReadSeeker: failed open: unexpected status code https://r/v2/a: 429 Too Many Requests"},
      {"ErrImagePull", "toomanyrequests: You have reached your unauthenticated pull rate limit."},
      {"ErrImagePull", "failed to extract layer sha256:1: write /var/lib/containerd/x: no space left on device"},
      {"ErrImagePull", "failed commit on ref \"layer-sha256:1\": unexpected commit digest sha256:2, expected sha256:1: failed precondition"},
      {"ErrImagePull", "failed to authorize: failed to fetch oauth token: unexpected status: 502 Bad Gateway"},
      {"ErrImagePull", "dial tcp 10.0.0.1:443: i/o timeout"},
      {"ErrImagePull", "net/http: TLS handshake timeout"},
      {"ErrImagePull", "dial tcp: lookup r on 10.0.0.10:53: server misbehaving"},
      {"ErrImagePull", "pull QPS exceeded"},
      {"RegistryUnavailable", ""},
      {"ImageInspectError", "rpc error: code = DeadlineExceeded"},
      {"CreateContainerError", "context deadline exceeded"},
      {"CreateContainerError", "failed to reserve container name \"train_0\": name \"train_0\" is reserved for \"0123\""},
      {"CreateContainerConfigError", "failed to sync secret cache: timed out waiting for the condition"},
      {"CreateContainerError", "error running prestart hook #0: nvidia-container-cli: detection error: nvml error: driver/library version mismatch"},
  };
  for (const auto& [reason, message] : pass) {
    CAPTURE(reason, message);
    const auto pending = of_pod(waits(reason, message));
    REQUIRE(pending);
    CHECK(pending->limit == 30min);
    CHECK(pending->verdict_class == VerdictClass::system);
  }
  const std::pair<const char*, const char*> stay[] = {
      {"ErrImagePull", "failed to resolve reference \"r/timeout:1\": r/timeout:1: not found"},
      {"ErrImagePull", "pull access denied, repository does not exist or may require authorization: server message: insufficient_scope"},
      {"ErrImagePull", "failed to fetch anonymous token: unexpected status: 401 Unauthorized"},
      {"ErrImagePull", "dial tcp: lookup regstry.example: no such host"},
      {"ErrImagePull", "no match for platform in manifest: not found"},
      {"CreateContainerConfigError", "secret \"timeout\" not found"},
      {"SignatureValidationFailed", "SignatureValidationFailed"},
  };
  for (const auto& [reason, message] : stay) {
    CAPTURE(reason, message);
    CHECK(of_pod(waits(reason, message))->verdict_class == VerdictClass::input);
  }
  for (const auto* message :
       {"Error creating: etcdserver: leader changed", "worker pod created failed: etcdserver: request timed out",
        "Error creating: Operation cannot be fulfilled on resourcequotas \"q\": the object has been modified",
        "Error creating: context deadline exceeded", "Error creating: Post \"https://10.0.0.1:443/\": net/http: TLS handshake timeout",
        "Error creating: pods \"digits-0\" already exists", "Error creating: the server is currently unable to handle the request",
        "Error creating: Internal error occurred: resource quota evaluation timed out"}) {
    CAPTURE(message);
    const auto pending = of_event("FailedCreate", message);
    REQUIRE(pending);
    CHECK(pending->kind == Kind::control_plane);
    CHECK(pending->limit == 15min);
    CHECK(pending->verdict_class == VerdictClass::system);
  }
  CHECK(of_event("FailedCreate", "Error creating: admission webhook \"w\" denied the request: timeout is not set")->kind == Kind::pods_refused);
  CHECK(of_event("FailedCreate", "Error creating: error looking up service account lab/timeout: serviceaccount \"timeout\" not found")->kind ==
        Kind::pods_refused);
}

TEST_CASE("other warnings are of no concern") {
  for (const auto* reason : {"BackoffLimitExceeded", "ExitedWithCode", "SettedPodTemplateRestartPolicy", "PyTorchJobRestarting", ""})
    CHECK_FALSE(of_event(reason, "pods exceeded quota"));
}

TEST_CASE("the user's limit for a phase replaces the default, but not for final problems") {
  plan::Limits limits;
  limits.queued = 11s, limits.scheduling = 12s, limits.starting = 13s;
  CHECK(pending_limit(*of_pod(waits("ErrImagePull")), limits) == 13s);
  CHECK(pending_limit(*of_pod(waits("CreateContainerConfigError")), limits) == 13s);
  CHECK(pending_limit(*of_pod(unscheduled("persistentvolumeclaim \"a\" not found"), ""), limits) == 12s);
  CHECK(pending_limit(*of_event("FailedCreate", "denied"), limits) == 11s);
  CHECK(pending_limit(*of_pod(waits("InvalidImageName")), limits) == 0s);
  CHECK_FALSE(pending_limit(*of_pod(unscheduled(), ""), limits));
  CHECK(pending_limit(*of_pod(waits("ErrImagePull")), {}) == 5min);
}

// --- as part of a job's story ---
