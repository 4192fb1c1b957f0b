import type { PolicyDecision, PolicyRequest, RuntimePolicy } from "sandgate";

/** Runs tools without side effects in their author's preferred sandbox, isolates others, denies destructive ones. */
export class CarefulPolicy implements RuntimePolicy {
  check({ tool }: PolicyRequest): PolicyDecision {
    if (tool.sideEffects === "destructive")
      return { decision: "deny", reason: "destructive tools are disabled" };
    const accepted = tool.sandboxes.filter((mode) => tool.sideEffects === "none" || mode !== "host");
    const [sandbox] = accepted;
    if (sandbox === undefined) return { decision: "deny", reason: "it must not run in the host sandbox" };
    const limits = sandbox === "host" ? {} : { wallTimeMs: 1_000 };
    return { decision: "allow", grant: { sandbox, limits, capabilities: {} } };
  }
}
