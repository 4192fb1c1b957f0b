import { allow, type PolicyDecision, type RuntimePolicy } from "./policy.ts";

const ON_THE_HOST = allow({ sandbox: "host" });

/**
 * Lets every call run on the host, without limits: for tools that the embedder wrote and trusts. A tool that
 * has no host implementation fails with `sandbox_unavailable`.
 */
export class HostPolicy implements RuntimePolicy {
  check(): PolicyDecision {
    return ON_THE_HOST;
  }
}
