import { resolve } from "node:path";
import type { ToolRegistry } from "../../engine/registry.ts";
import { CanonicalJson } from "../../json/canonical.ts";
import type { TrackedFields } from "../../policy/history/value-provenance.ts";
import type { PolicyRequest } from "../../policy/policy.ts";
import { checkPrincipal } from "../../policy/principal.ts";
import type { WrittenCall } from "./case-shape.ts";
import { historyOf } from "./earlier.ts";
import { type CallFlaw, validCall } from "./tool-call.ts";

/** What calls that were written down are made requests of. */
export interface RequestSetting {
  readonly registry: ToolRegistry;
  /** What the policy tracks: see `RuntimePolicy.trackedFields`. */
  readonly tracked: TrackedFields | undefined;
  /** The one to which a workspace is relative. */
  readonly directory: string;
}

/** Returns the request that a policy would get for a call, with its arguments as the tool's schema accepts them. */
export function requestOf(
  { call, principal, session = "policy-test", userText, earlier, workspace }: WrittenCall,
  { registry, tracked, directory }: RequestSetting,
): { readonly request: PolicyRequest } | { readonly flaws: readonly CallFlaw[] } {
  const read = validCall(call, registry, ["call"]);
  if ("flaws" in read) return read;
  const { input, tool } = read;
  const isHistoryKnown = userText !== undefined || earlier !== undefined;
  const present = { userText, tracked, registry, hasPrincipal: principal !== undefined };
  const history = isHistoryKnown ? historyOf(earlier ?? [], present) : undefined;
  if (history !== undefined && "flaws" in history) return history;
  try {
    return {
      request: Object.freeze({
        ...{ callId: "policy-test", sessionId: session, input, canonical: new CanonicalJson(input), tool },
        ...(principal !== undefined && { principal: checkPrincipal(principal) }),
        ...(history !== undefined && { history }),
        ...(workspace !== undefined && { workspace: resolve(directory, workspace) }),
      }),
    };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return { flaws: [{ path: ["principal"], message: error.message }] };
  }
}
