import { allow, type PolicyDecision } from "./decision.ts";
import { NO_ORIGINS, type PolicyExplanation } from "./explanation.ts";
import type { RuntimePolicy } from "./policy.ts";

const ON_THE_HOST = allow({ sandbox: "host" });

/**
 * Allows every call to run on the host, without limits. Use it for tools that you wrote and trust. Calls of a
 * tool without a host implementation fail with `sandbox_unavailable`.
 */
export class HostPolicy implements RuntimePolicy {
  check(): PolicyDecision {
    return ON_THE_HOST;
  }

  explain(): PolicyExplanation {
    return { decision: ON_THE_HOST, rules: [], ...NO_ORIGINS };
  }
}
