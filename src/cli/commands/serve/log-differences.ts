import type { Log } from "../../../log/log.ts";
import type { RuntimePolicy } from "../../../policy/policy.ts";
import { ShadowPolicy } from "../../../policy/shadow/shadow-policy.ts";

/** Returns a policy that writes to the log what the candidate would decide otherwise; the policy itself without one. */
export function withShadow(
  policy: RuntimePolicy,
  candidate: RuntimePolicy | undefined,
  log: Log,
): RuntimePolicy {
  if (candidate === undefined) return policy;
  const { revision: candidateRevision } = candidate;
  return new ShadowPolicy(policy, candidate, (difference) => {
    const { request, active, candidate: other, change, changes, failure } = difference;
    const { callId, sessionId, tool, canonical } = request;
    const fields = {
      ...{ callId, sessionId, toolName: tool.name, argumentDigest: canonical.digest, change, changes },
      ...{ decision: active.decision, rules: active.rules },
      ...{ candidateDecision: other?.decision, candidateRules: other?.rules, candidateRevision, failure },
    };
    log.write({ level: "info", event: "policy.difference", fields });
  });
}
