import { describe, expect, test } from "vitest";
import type { ConfigError } from "../../../../src/config/problem.ts";
import { ConfigSource } from "../../../../src/config/source.ts";
import { CanonicalJson } from "../../../../src/json/canonical.ts";
import { copyJson } from "../../../../src/json/copy.ts";
import type { JsonValue } from "../../../../src/json/value.ts";
import type { PolicyTool } from "../../../../src/policy/file/checked-rule.ts";
import { readPolicy } from "../../../../src/policy/file/read.ts";
import type { PolicySubject } from "../../../../src/policy/policy.ts";
import type { RuleCondition } from "../../../../src/policy/rule/rule.ts";
import { RulePolicy } from "../../../../src/policy/rule/rule-policy.ts";
import { ProvenanceLedger } from "../../../../src/sessions/provenance.ts";

const REFUND: PolicySubject = { name: "refund", sideEffects: "write", sandboxes: ["host"], inputSchema: {} };
const OF_ORDER: RuleCondition = {
  from: { tool: "get_order", row: { "/id": { argument: "/order_id" } }, field: "/customer" },
};

/** `yes` if an allow rule allows and a deny rule denies, `no` if neither does, and `unclear` if only the deny rule does. */
function matched(
  condition: RuleCondition,
  outputs: readonly JsonValue[],
  input: JsonValue,
  noted: JsonValue = {},
) {
  const when = { "/to": condition };
  const always = { tools: ["*"], effect: "allow", sandboxes: ["host"] } as const;
  const allowing = new RulePolicy({ rules: [{ ...always, when }] });
  const denying = new RulePolicy({ rules: [always, { tools: ["*"], effect: "deny", when }] });
  const provenance = new ProvenanceLedger(() => allowing.trackedFields);
  provenance.observeUserText("refund it");
  provenance.noteArguments(noted);
  for (const output of outputs) provenance.observe({ toolName: "get_order", arguments: {}, output });
  const copy = copyJson(input);
  const request = {
    callId: "c",
    sessionId: "s",
    tool: REFUND,
    input: copy,
    canonical: new CanonicalJson(copy),
    history: { provenance },
  };
  const allows = allowing.check(request).decision === "allow";
  const denies = denying.check(request).decision === "deny";
  return allows ? (denies ? "yes" : "allowed, and not denied") : denies ? "unclear" : "no";
}

const A1 = { id: "A1", customer: "ann" };
const B2 = { id: "B2", customer: "bob" };

describe("a value of the row that another argument names", () => {
  test.each<[string, JsonValue[]]>([
    ["of several results", [A1, B2]],
    ["of a list", [[A1, B2]]],
    ["of lists of lists", [[[A1], [B2]]]],
  ])("%s", (_, outputs) => {
    expect(matched(OF_ORDER, outputs, { order_id: "A1", to: "ann" })).toBe("yes");
    expect(matched(OF_ORDER, outputs, { order_id: "B2", to: "bob" })).toBe("yes");
    expect(matched(OF_ORDER, outputs, { order_id: "A1", to: "bob" })).toBe("no");
    expect(matched(OF_ORDER, outputs, { order_id: "C3", to: "ann" })).toBe("no");
    expect(matched({ not: OF_ORDER }, outputs, { order_id: "A1", to: "bob" })).toBe("yes");
  });

  test("in lists of members, by several fields, and besides other sources", () => {
    const outputs = [
      {
        shop: "x",
        orders: [
          { id: 1, parties: { to: ["ann", "amy"] } },
          { id: 2, parties: { to: ["bob"] } },
        ],
      },
      { shop: "y", orders: [{ id: 1, parties: { to: ["cem"] } }] },
    ];
    const row = { "/orders/*/id": { argument: "/order_id" }, "/shop": { argument: "/shop" } } as const;
    const condition: RuleCondition = {
      from: ["user", { tool: "get_order", row, field: "/orders/*/parties/to" }],
    };
    expect(matched(condition, outputs, { order_id: 1, shop: "x", to: "amy" })).toBe("yes");
    expect(matched(condition, outputs, { order_id: 1, shop: "x", to: ["amy", "cem"] })).toBe("no");
    expect(matched(condition, outputs, { order_id: 1, shop: "x", to: ["amy", "ann"] })).toBe("yes");
    expect(matched(condition, outputs, { order_id: 2, shop: "x", to: "amy" })).toBe("no");
    expect(matched(condition, outputs, { order_id: "1", shop: "x", to: "amy" })).toBe("no");
    expect(matched(condition, outputs, { order_id: 2, shop: "x", to: "refund" })).toBe("yes");
  });

  test.each<[string, JsonValue]>([
    ["is missing", { to: "ann" }],
    ["is null", { order_id: null, to: "ann" }],
    ["is a list", { order_id: ["A1"], to: "ann" }],
  ])("is unclear if that %s, also below not", (_, input) => {
    expect(matched(OF_ORDER, [A1], input)).toBe("unclear");
    expect(matched({ not: OF_ORDER }, [A1], input)).toBe("unclear");
  });

  test("is not what the model gave to a tool before, without a source", () => {
    expect(matched(OF_ORDER, [A1], { order_id: "A1", to: "ann" }, { customer: "ann" })).toBe("no");
  });

  const problemsOf = (from: string): string => {
    const tools: PolicyTool[] = [
      {
        name: "refund",
        sandboxes: ["host"],
        inputSchema: { type: "object", properties: { order_id: {} }, additionalProperties: false },
      },
      {
        name: "get_order",
        sandboxes: ["host"],
        inputSchema: { type: "object" },
        outputSchema: { type: "object", properties: { id: {}, customer: {} }, additionalProperties: false },
      },
    ];
    const text = `rules:
  - { tools: [get_order], effect: allow, sandboxes: [host] }
  - { tools: [refund], when: { /order_id: { from: ${from} } }, effect: allow, sandboxes: [host] }
untrusted: [{ tool: get_order, fields: [/note] }]`;
    try {
      return readPolicy(ConfigSource.parse(text, "p.yaml"), [], tools)
        .warnings.map(({ message }) => message)
        .join();
    } catch (error) {
      return (error as ConfigError).problems.map(({ message }) => message).join();
    }
  };

  test.each([
    ["{ tool: get_order, row: { /idd: { argument: /order_id } }, field: /customer }", "have no '/idd'"],
    ["{ tool: get_order, row: { /id: { argument: /order } }, field: /customer }", "has no '/order'"],
    ["{ tool: get_order, row: { /note: { argument: /order_id } }, field: /customer }", "cannot be a source"],
    ["{ tool: get_order, row: {}, field: /customer }", "must not be empty"],
    ["{ tool: get_order, row: { /id: x }, field: /customer }", "must"],
  ])("is checked: %s", (from, message) => {
    expect(problemsOf(from)).toContain(message);
  });
});
