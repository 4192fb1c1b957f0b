import fc from "fast-check";
import { expect, test } from "vitest";
import { type DispatchEvent, EventStream } from "../../src/engine/call/events.ts";
import { ToolDispatchEngine } from "../../src/engine/engine.ts";
import { ToolRegistry } from "../../src/engine/registry.ts";
import { CanonicalJson, canonicalText } from "../../src/json/canonical.ts";
import type { JsonObject, JsonValue } from "../../src/json/value.ts";
import type { PolicyRequest, PolicySubject } from "../../src/policy/policy.ts";
import type { DefaultUse, PolicyRule } from "../../src/policy/rule/rule.ts";
import { RulePolicy } from "../../src/policy/rule/rule-policy.ts";
import { strictest } from "../../src/policy/strictest.ts";
import { openSandboxes } from "../../src/sandboxes/open-sandboxes.ts";

const TOOLS = ["read_file", "write_file"] as const;
const sandboxes = await openSandboxes();
const registry = new ToolRegistry();
for (const name of TOOLS)
  registry.register({ name, description: "-", inputSchema: { type: "object" }, host: () => "done" });

const path = fc.constantFrom("src/a.ts", "src/../.env", "lib/a.ts", 7, null);
const input: fc.Arbitrary<JsonObject> = fc.record({ path, depth: path }, { requiredKeys: [] });
const principal = fc.constantFrom(
  undefined,
  { id: "staff:eve", kind: "user", roles: ["admin"] } as const,
  { id: "agent:7", kind: "agent" } as const,
);
const use = {
  sandboxes: fc.constantFrom(["host"] as const, ["quickjs", "host"] as const, ["quickjs"] as const),
  limits: fc.record({ wallTimeMs: fc.integer({ min: 1_000, max: 9_000 }) }, { requiredKeys: [] }),
};
const match = {
  tools: fc.constantFrom(["*"], ["read_*"], ["write_file"]),
  when: fc.dictionary(
    fc.constantFrom("/path", "/depth", "principal/id"),
    fc.constantFrom<{ glob: string } | { equals: JsonValue } | { range: { min: number } }>(
      { glob: "src/**" },
      { equals: null },
      { range: { min: 5 } },
    ),
    { maxKeys: 2 },
  ),
  principals: fc.constantFrom(["staff:*"], ["agent:7"]),
  roles: fc.constant(["admin"]),
};
const rule = fc.oneof(
  fc.record(
    { effect: fc.constant("allow" as const), ...match, ...use },
    { requiredKeys: ["effect", "tools", "sandboxes"] },
  ),
  fc.record(
    { effect: fc.constantFrom("deny" as const, "ask" as const), ...match },
    { requiredKeys: ["effect", "tools"] },
  ),
) as fc.Arbitrary<PolicyRule>;
const otherwise = fc.constantFrom<"deny" | DefaultUse>(
  "deny",
  { sandboxes: ["host"] },
  { effect: "ask", sandboxes: ["host"] },
);
const options = fc.record({ rules: fc.array(rule, { maxLength: 5 }), default: otherwise });

function textOf(value: unknown): string {
  return canonicalText(JSON.parse(JSON.stringify(value)) as JsonValue);
}

test("an explanation has the decision that a dispatch acts on, byte for byte, and equal policies explain it equally", async () => {
  const sample = fc.tuple(options, options, fc.constantFrom(...TOOLS), input, principal);
  await fc.assert(
    fc.asyncProperty(sample, async ([one, other, name, given, caller]) => {
      const tool = registry.subjects.find((each) => each.name === name) as PolicySubject;
      const request: PolicyRequest = Object.freeze({
        callId: "c",
        sessionId: "s",
        input: given,
        canonical: new CanonicalJson(given),
        tool,
        ...(caller && { principal: caller }),
      });
      for (const open of [
        () => new RulePolicy(one),
        () => strictest(new RulePolicy(one), new RulePolicy(other)),
      ]) {
        const policy = open();
        const explained = await policy.explain?.(request);
        expect(explained).toBeDefined();
        expect(textOf(explained?.decision)).toBe(textOf(await policy.check(request)));
        expect(textOf(await open().explain?.(request))).toBe(textOf(explained));

        const seen: DispatchEvent[] = [];
        const events = new EventStream();
        events.on((event) => seen.push(event));
        const ctx = {
          registry,
          policy,
          sandboxes,
          sessionId: "s",
          events,
          ...(caller && { principal: caller }),
        };
        const execution = await new ToolDispatchEngine().dispatch({ id: "c", name, arguments: given }, ctx);
        const decided = seen.find((event) => event.type === "tool.decided");
        const { decision, rules = [], ...more } = explained?.decision ?? {};
        expect(decided).toMatchObject({ decision, rules });
        if ("near" in more) expect(decided).toMatchObject({ near: more.near });
        if (decision !== "allow") expect(execution?.error?.code).toBe("permission_denied");
        const started = seen.find((event) => event.type === "tool.started");
        expect(started !== undefined).toBe(execution?.success === true);
        if (started?.type === "tool.started" && explained?.decision.decision === "allow")
          expect(textOf(started.grant)).toBe(textOf(explained.decision.grant));
      }
    }),
    { numRuns: 150 },
  );
});
