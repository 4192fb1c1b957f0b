import { resolve } from "node:path";
import type { ToolRegistry } from "../../engine/registry.ts";
import { CanonicalJson } from "../../json/canonical.ts";
import { parsePointer } from "../../json/pointer.ts";
import type { PolicyRequest } from "../../policy/policy.ts";
import { checkPrincipal } from "../../policy/principal.ts";
import { problemText } from "../../schema/argument-problem.ts";
import type { WrittenCall } from "./case-shape.ts";

/** What is wrong with a call that was written down. */
export interface CallFlaw {
  readonly path: readonly string[];
  readonly message: string;
}

/**
 * Returns the request that a policy would get for a call, with its arguments as the tool's schema accepts them.
 *
 * @param directory The one to which the workspace is relative.
 */
export function requestOf(
  { call, principal, session = "policy-test", userText, workspace }: WrittenCall,
  registry: ToolRegistry,
  directory: string,
): { readonly request: PolicyRequest } | { readonly flaws: readonly CallFlaw[] } {
  const tool = registry.find(call.tool)?.subject;
  if (tool === undefined) return flaw(["call", "tool"], `there is no tool '${call.tool}'`);
  const validated = registry.validate(call.tool, call.arguments ?? {});
  if ("problems" in validated) {
    const flaws = validated.problems.map((problem) => ({
      path: ["call", "arguments", ...parsePointer(problem.path)],
      message: problemText(problem),
    }));
    return { flaws };
  }
  const { input } = validated;
  try {
    return {
      request: Object.freeze({
        ...{ callId: "policy-test", sessionId: session, input, canonical: new CanonicalJson(input), tool },
        ...(principal !== undefined && { principal: checkPrincipal(principal) }),
        ...(userText !== undefined && { history: { userText } }),
        ...(workspace !== undefined && { workspace: resolve(directory, workspace) }),
      }),
    };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return flaw(["principal"], error.message);
  }
}

function flaw(path: readonly string[], message: string): { readonly flaws: readonly CallFlaw[] } {
  return { flaws: [{ path, message }] };
}
