import {
  CanonicalJson,
  type JsonValue,
  type PolicyRequest,
  type PolicyRule,
  type PolicySubject,
} from "sandgate";

/** A tool that rules are about. */
export const TOOL: PolicySubject = {
  name: "tool_3",
  sideEffects: "write",
  sandboxes: ["host"],
  inputSchema: {},
  definition: { digest: "3".repeat(64) },
};

/** Returns a call of the tool. */
export function requestFor(input: JsonValue, principalId = "user-7"): PolicyRequest {
  return {
    callId: "call",
    sessionId: "bench",
    input,
    canonical: new CanonicalJson(input),
    tool: TOOL,
    principal: { id: principalId, kind: "user" },
  };
}

/** How the rules of a policy differ. */
export type RuleSpread = "tools" | "folders" | "principals";

/** Returns rules for different tools, or for different folders or principals of one tool. */
export function rulesFor(count: number, spread: RuleSpread): readonly PolicyRule[] {
  return Array.from({ length: count }, (_, index): PolicyRule => {
    const one = { effect: "allow", tools: [TOOL.name], sandboxes: ["host"] } as const;
    if (spread === "principals") return { ...one, principals: [`user-${index}`] };
    const when = { "/path": { glob: `src/module-${index}/**` }, "/depth": { range: { max: 9 } } };
    if (spread === "folders") return { ...one, when };
    const tools = [`tool_${index >> 2}`];
    return { ...one, tools, when: { ...when, "/path": { glob: `src/module-${index % 4}/**` } } };
  });
}

/** The arguments that the rules are about. Some of `tool_3`'s rules match. */
export const INPUT: JsonValue = Object.freeze({
  path: "src/module-1/index.ts",
  depth: 3,
  text: "x".repeat(40),
});
