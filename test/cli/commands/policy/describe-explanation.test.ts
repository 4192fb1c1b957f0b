import { expect, test } from "vitest";
// Inside: explains one rule after the other; the command reads a whole config for each.
import { describeExplanation } from "../../../../src/cli/commands/policy/explain.ts";
import { CanonicalJson } from "../../../../src/json/canonical.ts";
import type { PolicyRule } from "../../../../src/policy/rule/rule.ts";
import { RulePolicy } from "../../../../src/policy/rule/rule-policy.ts";

const USE = { tools: ["fetch"], effect: "allow", sandboxes: ["quickjs"] } as const;

/** Returns the lines that explain what rules decide on a call of `fetch`. */
function linesOf(...rules: readonly PolicyRule[]): readonly string[] {
  const explanation = new RulePolicy({ rules }).explain({
    callId: "c",
    sessionId: "s",
    input: {},
    canonical: new CanonicalJson({}),
    tool: { name: "fetch", sideEffects: "network", sandboxes: ["quickjs"], inputSchema: {} },
  });
  return describeExplanation("fetch", explanation).map(({ text }) => text);
}

test("An explanation says which rules grant each capability, and which withhold one", () => {
  const lines = linesOf(
    {
      ...USE,
      name: "pages",
      limits: { memoryBytes: 1_048_576 },
      capabilities: { net: ["https://a.example.com"], env: ["A"], clock: true },
    },
    { ...USE, name: "all", capabilities: { net: ["https://a.example.com"], env: ["B"] } },
  );
  expect(lines).toEqual([
    "allow: fetch runs in quickjs",
    "  'pages' (allow) matches: every call of the tool matches",
    "  'all' (allow) matches: every call of the tool matches",
    "  sandbox quickjs: from 'pages'",
    "  limit memory 1 MiB: from 'pages'",
    `  capability net ["https://a.example.com"]: from 'pages', 'all'`,
    "  no capability env: the rules grant nothing of it in common",
    "  no capability clock: not granted by 'all'",
  ]);
});

test("An explanation says why no person is asked, and that no rule names a tool", () => {
  expect(linesOf({ tools: ["fetch"], effect: "ask", name: "asks" })).toEqual([
    "ask: fetch is denied, since no rule grants it anything that a person could confirm",
    "  'asks' (ask) matches: every call of the tool matches",
  ]);
  expect(linesOf({ ...USE, tools: ["other"] })).toEqual([
    "deny: fetch does not run: no rule allows this call",
    "  no rule names the tool",
  ]);
});

test("An explanation says what becomes of a rule if it is unclear whether it matches", () => {
  const principals = ["staff:*"];
  expect(linesOf({ ...USE, name: "staff", principals }, { ...USE, name: "all" })[1]).toBe(
    "  'staff' (allow) may match: unclear: principals, so it only restricts what other rules grant",
  );
  const denied = linesOf({ tools: ["fetch"], effect: "deny", name: "staff", principals });
  expect(denied[1]).toBe("  'staff' (deny) may match: unclear: principals, so it applies");
});
