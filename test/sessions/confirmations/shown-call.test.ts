import { expect, test } from "vitest";
import type { ConfirmationRequest } from "../../../src/engine/call/confirmation.ts";
import { CanonicalJson } from "../../../src/json/canonical.ts";
import type { JsonObject } from "../../../src/json/value.ts";
import { checkGrant } from "../../../src/policy/grant/execution-grant.ts";
import { Redaction } from "../../../src/redaction/redaction.ts";
// Inside: shows calls with 200 projected changes, without a tool and a policy that ask about them.
import { shownCall } from "../../../src/sessions/calls/call-confirmation.ts";

function requestOf(input: JsonObject): ConfirmationRequest {
  return {
    callId: "1",
    sessionId: "s1",
    tool: { name: "write_file", sideEffects: "write", sandboxes: ["host"], inputSchema: {} },
    input,
    canonical: new CanonicalJson(Object.freeze(input)),
    grant: checkGrant({ sandbox: "host" }),
    question: "Write?",
    rules: ["writes"],
    digest: "d",
  };
}

test("A person is shown the whole of short arguments", () => {
  expect(shownCall(requestOf({ path: "a" }), { redaction: new Redaction() })).toEqual({
    toolName: "write_file",
    sideEffects: "write",
    inputSummary: { text: '{"path":"a"}', missing: "", isPartial: false },
    arguments: '{"path":"a"}',
    projectedChanges: [],
    question: "Write?",
    grant: checkGrant({ sandbox: "host" }),
    rules: ["writes"],
  });
});

test("A person is told what the summary leaves out and hides, and can open the whole", () => {
  const text = "x".repeat(5_000);
  const input = { password: "hunter22", text };
  const shown = shownCall(requestOf(input), { redaction: new Redaction() });
  expect(shown.inputSummary.text).not.toContain("hunter22");
  expect(shown.inputSummary.missing).toMatch(/characters left out, 1 secret hidden$/);
  expect(shown.inputSummary.isPartial).toBe(true);
  expect(JSON.parse(shown.arguments)).toEqual(input);
});

test("What a tool says that it would change is bounded", () => {
  const projectedChanges = Array.from({ length: 200 }, () => "p".repeat(5_000));
  const shown = shownCall(requestOf({}), { redaction: new Redaction(), projectedChanges });
  expect(shown.projectedChanges).toHaveLength(100);
  expect(shown.projectedChanges[0]).toHaveLength(1_000);
});
