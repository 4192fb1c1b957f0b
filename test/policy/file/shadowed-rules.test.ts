import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { atOnce } from "../../../src/base/turns.ts";
import { ConfigSource } from "../../../src/config/source.ts";
import { CanonicalJson } from "../../../src/json/canonical.ts";
import type { JsonObject } from "../../../src/json/value.ts";
import type { PolicyTool } from "../../../src/policy/file/checked-rule.ts";
import { readPolicy } from "../../../src/policy/file/read.ts";
import { shadowedRules } from "../../../src/policy/file/shadowed-rules.ts";
import type { PolicySubject } from "../../../src/policy/policy.ts";
import type { PolicyRule } from "../../../src/policy/rule/rule.ts";
import { RulePolicy } from "../../../src/policy/rule/rule-policy.ts";

const pay: PolicySubject = {
  name: "pay",
  sandboxes: ["host"],
  sideEffects: "write",
  tags: ["money"],
  inputSchema: {
    type: "object",
    additionalProperties: false,
    required: ["to", "currency"],
    properties: {
      to: { type: "string" },
      currency: { enum: ["EUR", "USD"] },
      amount: { type: "integer" },
      force: { type: "boolean" },
      note: { type: "string" },
    },
  },
};
const list: PolicySubject = {
  name: "list",
  sandboxes: ["host"],
  sideEffects: "read",
  access: { paths: [{ argument: "/path", access: "read" }] },
  inputSchema: { type: "object", properties: { path: { type: "string" } } },
};
const TOOLS: readonly PolicyTool[] = [pay, list];

/** Returns what is said of the rules of a policy, each as `rule: text`. */
function warningsOf(...rules: readonly string[]): readonly string[] {
  const text = `rules:\n${rules.map((rule) => `  - { ${rule} }\n`).join("")}`;
  return readPolicy(ConfigSource.parse(text, "p.yaml"), [], TOOLS).warnings.map(
    ({ line, message }) => `${line - 1}: ${message}`,
  );
}

const ALLOW = "tools: [pay], effect: allow, sandboxes: [host]";

describe("rules that change no decision are named, with the rule that decides", () => {
  test.each([
    ["the same twice", [ALLOW, ALLOW], "2: this rule has no effect: 'rule 1' grants the same"],
    [
      "asking about denied calls",
      ["tools: [pay], effect: deny", "tools: [pay], effect: ask, sandboxes: [host]"],
      "2: this rule has no effect: 'rule 1' denies every call",
    ],
    [
      "a narrower denial",
      [
        ALLOW,
        'tools: ["*"], effect: deny, when: { /amount: { range: { min: 5 } } }',
        "tools: [pay], effect: deny, when: { /amount: { range: { min: 7 } }, /force: { equals: true } }",
      ],
      "3: this rule has no effect: 'rule 2' already denies",
    ],
    [
      "a later broader one",
      [
        "tags: [money], effect: deny, when: { /currency: { equals: USD } }",
        "tools: [pay], effect: deny, when: { /currency: { oneOf: [USD, EUR] } }",
      ],
      "1: this rule has no effect: 'rule 2' already denies",
    ],
    [
      "denied callers",
      [`${ALLOW}, principals: [ann]`, 'tools: [pay], effect: deny, principals: ["a*"]'],
      "1: this rule has no effect: 'rule 2' denies",
    ],
    [
      "denied roles",
      [`${ALLOW}, roles: [dev]`, "tools: [pay], effect: deny, roles: [dev, ops]"],
      "1: this rule has no effect: 'rule 2' denies",
    ],
    [
      "what a prefix covers",
      [
        `${ALLOW}, when: { /to: { equals: DE12 } }`,
        "tools: [pay], effect: deny, when: { /to: { prefix: DE } }",
      ],
      "1: this rule has no effect: 'rule 2' denies",
    ],
    [
      "what a folder covers",
      [
        "tools: [list], effect: allow, sandboxes: [host], when: { /path: { glob: 'a/b/*.md' } }",
        "tools: [list], effect: deny, when: { /path: { glob: 'a/**' } }",
      ],
      "1: this rule has no effect: 'rule 2' denies",
    ],
    [
      "all values together",
      [
        ALLOW,
        "tools: [pay], effect: deny, when: { /currency: { equals: USD } }",
        "tools: [pay], effect: deny, when: { /currency: { equals: EUR } }",
      ],
      "1: this rule has no effect: 'rule 2', 'rule 3' deny every",
    ],
    [
      "within any",
      [
        ALLOW,
        "tools: [pay], effect: deny, when: { any: [{ /force: { equals: true } }, { /amount: { range: { min: 5 } } }] }",
        "tools: [pay], effect: deny, when: { all: [{ /amount: { range: { min: 6 } } }] }",
      ],
      "3: this rule has no effect: 'rule 2' already denies",
    ],
    [
      "asking twice",
      [
        ALLOW,
        "tools: [pay], effect: ask",
        "tools: [pay], effect: ask, when: { /amount: { range: { min: 5 } } }",
      ],
      "3: this rule has no effect: 'rule 2' asks",
    ],
    [
      "what is never remembered",
      [
        "tools: [pay], effect: ask, sandboxes: [host], remember: session",
        "tools: [pay], effect: ask, question: Really?",
      ],
      "1: no approval is ever remembered: 'rule 2' asks about each of these calls anew",
    ],
  ] as const)("%s", (_, rules, expected) => {
    const warnings = warningsOf(...rules);
    expect(warnings.filter((warning) => warning.startsWith(expected))).toHaveLength(1);
  });

  test.each([
    ["another grant", [ALLOW, `${ALLOW}, limits: { wallTime: 1s }`]],
    [
      "another question",
      [
        ALLOW,
        "tools: [pay], effect: ask",
        "tools: [pay], effect: ask, question: Really?, when: { /force: { equals: true } }",
      ],
    ],
    ["a caller besides", [`${ALLOW}, principals: ["a*"]`, "tools: [pay], effect: deny, principals: [ann]"]],
    [
      "a rule that ends",
      [
        ALLOW,
        "tools: [pay], effect: deny, until: 2999-01-01",
        "tools: [pay], effect: deny, when: { /force: { equals: true } }",
      ],
    ],
    [
      "a value that may be missing",
      [
        ALLOW,
        "tools: [pay], effect: deny, when: { /force: { equals: true } }",
        "tools: [pay], effect: deny, when: { /force: { equals: false } }",
      ],
    ],
    [
      "a longer range",
      [
        ALLOW,
        "tools: [pay], effect: deny, when: { /amount: { range: { min: 7 } } }",
        "tools: [pay], effect: deny, when: { /amount: { range: { min: 5 } } }",
      ],
    ],
  ] as const)("%s makes a difference", (kind, rules) => {
    const warnings = warningsOf(...rules).filter((warning) => warning.includes("no effect"));
    // The one with the longer range makes the other one superfluous.
    expect(warnings).toHaveLength(kind === "a longer range" ? 1 : 0);
  });

  test("a rule that grants is not superfluous where another one may not match", () => {
    const warnings = warningsOf(
      'tools: [pay], when: { /force: { not: { equals: "DE1" } } }, effect: ask, sandboxes: [host]',
      "tools: [pay], effect: ask, sandboxes: [host]",
    );
    expect(warnings.filter((warning) => warning.startsWith("2:"))).toEqual([]);
  });

  test("whatever the rules are, a policy without one of them decides the same about every call", () => {
    const key = fc.constantFrom("/to", "/currency", "/amount", "/force", "/note", "principal/id");
    const leaf = fc.oneof(
      fc.record({ equals: fc.constantFrom("DE1", "EUR", "USD", 5, true) }),
      fc.record({ oneOf: fc.constantFrom(["EUR", "USD"], ["DE1"], [5, true], [true, false]) }),
      fc.record({ prefix: fc.constantFrom("D", "DE", "U") }),
      fc.record({ glob: fc.constantFrom("DE*", "D/**", "D/a", "**") }),
      fc.record({ regex: fc.constantFrom("^D", "1$", ".*") }),
      fc.record({ range: fc.constantFrom({ min: 5 }, { max: 5 }, { min: 3, max: 7 }) }),
    );
    const { condition } = fc.letrec((tie) => ({
      condition: fc.oneof(
        { maxDepth: 2 },
        leaf,
        fc.record({ not: tie("condition") }),
        fc.record({ all: fc.array(tie("condition"), { minLength: 1, maxLength: 2 }) }),
        fc.record({ any: fc.array(tie("condition"), { minLength: 1, maxLength: 2 }) }),
      ),
    }));
    const entries = fc.dictionary(key, condition, { minKeys: 1, maxKeys: 2 });
    const nested = fc.array(entries, { minLength: 1, maxLength: 2 });
    const when = fc.oneof(entries, fc.record({ all: nested }), fc.record({ any: nested }));
    const match = fc.record(
      {
        tools: fc.constant(["pay"]),
        when,
        principals: fc.constantFrom(["ann"], ["a*"]),
        absent: fc.constantFrom(["/note"], ["/force"]),
      },
      { requiredKeys: ["tools"] },
    );
    const use = fc.record({ effect: fc.constantFrom("allow", "ask"), sandboxes: fc.constant(["host"]) });
    const effect = fc.oneof(use, fc.constant({ effect: "deny" }), fc.constant({ effect: "ask" }));
    const rules = fc.array(
      fc.tuple(match, effect).map(([a, b]) => ({ ...a, ...b }) as unknown as PolicyRule),
      { minLength: 2, maxLength: 4 },
    );
    const input = fc.record(
      {
        to: fc.constantFrom("DE1", "D/a", "U", ""),
        currency: fc.constantFrom("EUR", "USD"),
        amount: fc.integer({ min: 3, max: 8 }),
        force: fc.boolean(),
        note: fc.constantFrom("", "DE1", "D/../a"),
      },
      { requiredKeys: ["to", "currency"] },
    );
    const caller = fc.constantFrom(undefined, "ann", "al", "bob");
    // It is unclear whether 'true' meets the first condition, and then the rule asks.
    const unclear: PolicyRule[] = [
      { tools: ["pay"], effect: "ask", when: { "/force": { all: [{ oneOf: [true] }, { glob: "a*" }] } } },
      { tools: ["pay"], effect: "ask", when: { "/force": { equals: false } } },
    ];
    let found = 0;
    fc.assert(
      fc.property(rules, fc.array(fc.tuple(input, caller), { minLength: 5, maxLength: 20 }), (all, calls) => {
        const shadowed = atOnce(shadowedRules([...all.entries()], TOOLS)).filter(
          ({ path }) => path.length === 2,
        );
        for (const { path } of shadowed) {
          found += 1;
          const others = all.filter((_, index) => index !== path[1]);
          const [full, less] = [all, others].map((given) => new RulePolicy({ rules: given })) as [
            RulePolicy,
            RulePolicy,
          ];
          for (const [given, id] of calls) {
            const request = requestOf(given as JsonObject, id);
            expect(effectOf(less, request)).toEqual(effectOf(full, request));
          }
        }
      }),
      {
        numRuns: 2_000,
        examples: [[unclear, [[{ to: "U", currency: "EUR", force: true }, undefined]]]],
      },
    );
    expect(found).toBeGreaterThan(100);
  });
});

type Request = Parameters<RulePolicy["check"]>[0];

function requestOf(input: JsonObject, id: string | undefined): Request {
  const principal = id === undefined ? {} : { principal: { id, kind: "user" as const } };
  return { callId: "c", sessionId: "s", input, canonical: new CanonicalJson(input), tool: pay, ...principal };
}

/** What a policy decides, without the names of rules. */
function effectOf(policy: RulePolicy, request: Request): unknown {
  const decision = policy.check(request);
  return [decision.decision, "grant" in decision ? decision.grant : undefined];
}

describe("fields of results that no result has are named", () => {
  const find: PolicySubject = {
    name: "find",
    sandboxes: ["host"],
    sideEffects: "read",
    inputSchema: { type: "object" },
    outputSchema: {
      type: "object",
      additionalProperties: false,
      properties: {
        iban: { type: "string" },
        found: { type: "boolean" },
        people: {
          type: "array",
          items: {
            type: "object",
            properties: { mail: { type: "string" }, tags: { type: "array", items: { type: "string" } } },
            additionalProperties: false,
          },
        },
      },
    },
  };
  const allowed = `  - { tools: [find], effect: allow, sandboxes: [host] }\n`;
  const warnings = (rule: string, more = allowed, untrusted = ""): readonly string[] =>
    readPolicy(
      ConfigSource.parse(`rules:\n  - { ${rule} }\n${more}${untrusted}`, "p.yaml"),
      [],
      [pay, find],
    ).warnings.map(({ message }) => message);
  const from = (field: string): string =>
    `${ALLOW}, when: { /to: { from: [{ tool: find, field: ${field} }] } }`;

  test.each([
    [from("/ibn"), /have no '\/ibn': did you mean 'iban'/],
    [from("/people/*/email"), /have no '\/people\/\*\/email': did you mean 'mail'/],
    [from("/people"), /never a text, a number or a list of them/],
    [from("/found"), /never a text, a number/],
    [`${ALLOW}, when: { /to: { from: [{ lookup: find, field: /iban/0 }] } }`, /have no '\/iban\/0'/],
    [
      `${ALLOW}, when: { any: [{ /to: { any: [{ from: [user, { tool: find, field: /x }] }] } }] }`,
      /have no '\/x'/,
    ],
    [
      "tools: [pay], effect: deny, when: { /note: { not: { without: [{ tool: find, field: /ibn }] } } }",
      /have no '\/ibn'/,
    ],
    [
      "tools: [pay], effect: deny, when: { /note: { not: { links: { from: [{ tool: find, field: /ibn }] } } } }",
      /have no '\/ibn'/,
    ],
  ])("%s", (rule, message) => {
    expect(warnings(rule)).toEqual(expect.arrayContaining([expect.stringMatching(message)]));
  });

  test.each([
    "/iban",
    "/people/mail",
    "/people/*/mail",
    "/people/0/mail",
    "/people/*/tags",
    "/*",
    "/people/*/*",
  ])("and not %s, which results have", (field) => {
    expect(warnings(from(field))).toEqual([]);
  });

  test("a tool of which no rule allows a call has no results", () => {
    expect(warnings(from("/iban"), "")).toEqual([expect.stringContaining("no rule allows calls of 'find'")]);
    const denied = "  - { tools: [find], effect: deny }\n";
    expect(warnings(from("/iban"), denied)).toEqual([
      expect.stringContaining("no rule allows calls of 'find'"),
    ]);
  });

  test("also in 'untrusted'", () => {
    const untrusted = (entries: string): readonly string[] =>
      warnings(ALLOW, allowed, `untrusted: ${entries}\n`);
    expect(untrusted("[{ tool: fnd }]")).toEqual([expect.stringContaining("did you mean 'find'")]);
    expect(untrusted("[{ tool: find, fields: [/ibn] }]")).toEqual([
      expect.stringContaining("have no '/ibn'"),
    ]);
    expect(untrusted("[{ tool: find }, { tool: find, fields: [/iban] }]")).toEqual([
      expect.stringContaining("all results of 'find' are listed"),
    ]);
    expect(untrusted("[{ tool: find, fields: [/people/*/mail, /iban] }]")).toEqual([]);
  });
});
