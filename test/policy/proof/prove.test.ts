import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../src/json/value.ts";
import type { RuleCapabilities } from "../../../src/policy/grant/execution-grant.ts";
import type { PolicySubject } from "../../../src/policy/policy.ts";
import type { Invariant, Proof } from "../../../src/policy/proof/invariant.ts";
import { prove, proveInvariants } from "../../../src/policy/proof/prove.ts";
import type { PolicyRule, RuleConditions } from "../../../src/policy/rule/rule.ts";

const COMMAND: PolicySubject = {
  name: "run_command",
  sideEffects: "execute",
  sandboxes: ["host", "quickjs"],
  tags: ["shell"],
  inputSchema: {
    type: "object",
    properties: {
      command: { type: "string" },
      url: { type: "string", format: "uri" },
      path: { type: "string" },
    },
    required: ["command"],
    additionalProperties: false,
  },
};
const NOT_ON_HOST: Invariant = { never: { tools: ["run_command"], sandboxes: ["host"] } };
const NO_NET: Invariant = { never: { capabilities: { net: "any" } } };
const ASKED: Invariant = { always: { sideEffects: ["execute"], effect: "ask" } };

const onHost = { tools: ["run_command"], effect: "allow", sandboxes: ["quickjs", "host"] } as const;
const inQuickJs = { tools: ["run_command"], effect: "allow", sandboxes: ["quickjs"] } as const;

function proofOf(
  invariant: Invariant,
  rules: readonly PolicyRule[],
  more: object = {},
  tool = COMMAND,
): Proof {
  const [proof] = prove({ rules, ...more }, [invariant], [tool]);
  return proof as Proof;
}

function verdictOf(...given: Parameters<typeof proofOf>): Proof["verdict"] {
  return proofOf(...given).verdict;
}

describe("an invariant is proved if", () => {
  test.each<[string, Invariant, PolicyRule[], object?]>([
    ["no rule grants anything", NOT_ON_HOST, []],
    ["no rule lists the sandbox", NOT_ON_HOST, [inQuickJs]],
    ["another rule, which always matches, does not list the sandbox", NOT_ON_HOST, [onHost, inQuickJs]],
    [
      "a rule without conditions denies the call",
      NOT_ON_HOST,
      [onHost, { tools: ["run_*"], effect: "deny" }],
    ],
    ["a rule denies all tools of the tag", NOT_ON_HOST, [onHost, { tags: ["shell"], effect: "deny" }]],
    ["a rule without conditions asks", ASKED, [onHost, { tools: ["*"], effect: "ask" }]],
    [
      "only rules that ask grant something",
      ASKED,
      [{ ...onHost, effect: "ask", when: { "/command": { prefix: "a" } } }],
    ],
    [
      "the default asks about what no rule allows",
      ASKED,
      [{ ...onHost, effect: "ask", when: { "/command": { prefix: "a" } } }],
      { default: { effect: "ask", sandboxes: ["host"] } },
    ],
    [
      "the default applies only to calls that a rule allows",
      NOT_ON_HOST,
      [inQuickJs],
      { default: { sandboxes: ["host"] } },
    ],
    [
      "rules that always match grant origins that have nothing in common",
      NO_NET,
      [
        { ...onHost, capabilities: { net: ["https://a.example.com"] } },
        { ...onHost, capabilities: { net: ["https://b.example.com"] } },
      ],
    ],
  ])("%s", (_, invariant, rules, more) => {
    expect(proofOf(invariant, rules, more)).toMatchObject({ verdict: "proved", failures: [] });
  });
});

describe("an invariant is not proved by", () => {
  const maybe: RuleConditions = { "/command": { prefix: "rm" } };
  test.each<[string, Invariant, PolicyRule[], object?]>([
    ["the order of preference of sandboxes", NOT_ON_HOST, [onHost]],
    ["the question of a rule that grants", NOT_ON_HOST, [{ ...onHost, effect: "ask" }]],
    [
      "a rule that denies only some calls",
      NOT_ON_HOST,
      [onHost, { tools: ["*"], effect: "deny", when: maybe }],
    ],
    [
      "a rule that denies only some principals",
      NOT_ON_HOST,
      [onHost, { tools: ["*"], effect: "deny", roles: ["guest"] }],
    ],
    [
      "a rule that denies until it ends",
      NOT_ON_HOST,
      [onHost, { tools: ["*"], effect: "deny", until: "2999-01-01" }],
    ],
    ["a rule that asks until it ends", ASKED, [onHost, { tools: ["*"], effect: "ask", until: "2999-01-01" }]],
    ["a rule that asks about some calls", ASKED, [onHost, { tools: ["*"], effect: "ask", when: maybe }]],
    ["a rule that restricts only some calls", NOT_ON_HOST, [onHost, { ...inQuickJs, when: maybe }]],
    [
      "the rules, if the default grants it",
      NOT_ON_HOST,
      [{ ...inQuickJs, when: maybe }],
      { default: { sandboxes: ["host"] } },
    ],
    ["an allow rule that is about some calls", NOT_ON_HOST, [{ ...onHost, when: maybe }]],
    ["a rule for another tag", NOT_ON_HOST, [onHost, { tags: ["web"], effect: "deny" }]],
  ])("%s", (_, invariant, rules, more) => {
    expect(verdictOf(invariant, rules, more)).toBe("broken");
  });

  test("templates whose files only some calls have in common", () => {
    const net: RuleCapabilities = { fs: [{ file: { argument: "/path" }, within: "/srv", at: "/srv" }] };
    const fs: RuleCapabilities = { fs: [{ directory: "/srv/a", at: "/a" }] };
    const rules = [net, fs].map((capabilities): PolicyRule => ({ ...onHost, capabilities }));
    // Only a call with a path below /srv/a has a file in common with the directory.
    expect(verdictOf({ never: { capabilities: { fs: "any" } } }, rules)).not.toBe("proved");
  });
});

describe("a witness", () => {
  const witnessOf = (...given: Parameters<typeof proofOf>) => proofOf(...given).failures[0]?.witness;

  test.each<[string, RuleConditions]>([
    ["equals", { "/command": { equals: "ls" } }],
    ["oneOf", { "/command": { oneOf: [1, "pwd"] } }],
    ["glob", { "/path": { glob: "/srv/{a,b}/**/*.[ch]" } }],
    ["a glob with excluded characters", { "/path": { glob: "src/[!a]?" } }],
    ["prefix", { "/url": { prefix: "https://internal.example.com/" } }],
    ["regex", { "/command": { regex: "^git (status|log)( -[a-z]+){2}$" } }],
    ["not", { "/command": { not: { oneOf: ["a", "other", "b"] } } }],
    ["all", { "/command": { all: [{ prefix: "git" }, { not: { equals: "git" } }] } }],
    ["any of when", { any: [{ "/command": { range: { min: 1 } } }, { "/path": { equals: "/x" } }] }],
    [
      "the principal and the session",
      { "principal/attributes/team": { equals: "x" }, "session/id": { prefix: "s-" } },
    ],
  ])("meets conditions: %s", (_, when) => {
    expect(witnessOf(NOT_ON_HOST, [{ ...onHost, when }])).toMatchObject({ tool: "run_command" });
  });

  test("has the arguments, the principal and the decision of a call that was decided", () => {
    const rules: PolicyRule[] = [
      {
        ...onHost,
        name: "ops",
        roles: ["admin"],
        principals: ["ops-*"],
        when: { "/command": { equals: "ls" } },
      },
    ];
    expect(proofOf(NOT_ON_HOST, rules)).toMatchObject({
      name: "invariant 1",
      tools: ["run_command"],
      failures: [
        {
          rules: ["ops"],
          place: 0,
          tools: ["run_command"],
          witness: {
            input: { command: "ls" },
            principal: { id: "ops-", kind: "user", roles: ["admin"] },
            decision: { decision: "allow", sandboxes: ["quickjs", "host"], rules: ["ops"] },
          },
        },
      ],
    });
  });

  test("is a call after the end of the rule that protects until then", () => {
    const rules: PolicyRule[] = [onHost, { tools: ["*"], effect: "deny", until: "2999-01-01" }];
    expect(witnessOf(NOT_ON_HOST, rules)?.at).toBe(Date.parse("2999-01-01"));
  });

  test("fills in templates", () => {
    const capabilities = {
      net: [{ argument: "/url", within: ["https://*.example.com:8443"] }],
      fs: [{ file: { argument: "/path" }, within: "/srv" }],
    };
    expect(witnessOf(NO_NET, [{ ...onHost, capabilities }])?.decision.grant?.capabilities.net).toEqual([
      "https://a.example.com:8443",
    ]);
  });

  test("is not claimed if no call was found", () => {
    const unknown: RuleConditions = { "/command": { all: [{ regex: "^\\p{Lu}$" }, { regex: "^\\p{Ll}$" }] } };
    const proof = proofOf(NOT_ON_HOST, [{ ...onHost, when: unknown }]);
    expect(proof).toMatchObject({ verdict: "undecided", failures: [{ rules: ["rule 1"], place: 0 }] });
    expect(proof.failures[0]).not.toHaveProperty("witness");
  });

  test("that is simple is found, however many contradictory rules and invariants there are", () => {
    const contradiction = (text: string): RuleConditions => ({
      "/command": { any: [{ all: [{ equals: text }, { equals: "b" }] }] },
      "principal/attributes/team": { oneOf: Array.from({ length: 100 }, (_, index) => index) },
    });
    const rules = Array.from(
      { length: 200 },
      (_, index): PolicyRule => ({ ...onHost, tools: ["other"], when: contradiction(`c${index}`) }),
    );
    const other = { ...COMMAND, name: "other" };
    const never = Array.from({ length: 50 }, (): Invariant => ({ never: { tools: ["other"] } }));
    const simple: PolicyRule = { ...onHost, when: { "/command": { prefix: "a" } } };
    const proofs = prove({ rules: [...rules, simple] }, [...never, NOT_ON_HOST], [COMMAND, other]);
    expect(proofs.slice(0, -1).every(({ verdict }) => verdict === "proved")).toBe(true);
    expect(proofs.at(-1)).toMatchObject({ verdict: "broken" });
  });

  test("is looked for in time, whatever the tool's schema and patterns are", () => {
    const again = { $ref: "#" };
    const members = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`m${index}`, again]));
    const schemas: JsonObject[] = [
      { type: "object", properties: members, required: Object.keys(members) },
      { allOf: Array.from({ length: 20 }, () => ({ anyOf: [again] })) },
      { type: "object", properties: { a: { pattern: `^${"(".repeat(5)}a${"{60}){60}".repeat(3)}))$` } } },
      { $ref: "https://example.com/unknown.json" },
      { type: "array", minItems: 1_000_000_000, items: again },
      { type: "string", minLength: 1_000_000_000 },
    ];
    for (const inputSchema of schemas) {
      const proof = proofOf(NOT_ON_HOST, [onHost], {}, { ...COMMAND, inputSchema });
      expect(["undecided", "broken"]).toContain(proof.verdict);
    }
  });
});

describe("the report of an invariant", () => {
  test("has each rule that breaks it, with all tools that it concerns, and no more than 20", () => {
    const tools = ["a", "b"].map((name) => ({ ...COMMAND, name }));
    const rules = Array.from(
      { length: 25 },
      (_, index): PolicyRule => ({
        tools: ["*"],
        effect: "allow",
        sandboxes: ["host"],
        when: { "/command": { equals: `c${index}` } },
      }),
    );
    const [proof] = prove({ rules }, [{ name: "n", never: { sandboxes: ["host"] } }], tools);
    expect(proof).toMatchObject({ name: "n", verdict: "broken", furtherFailures: 5 });
    expect(proof?.failures).toHaveLength(20);
    expect(proof?.failures[3]).toMatchObject({ rules: ["rule 4"], place: 3, tools: ["a", "b"] });
  });

  test("names all rules that grant something together, and no rule for the default", () => {
    expect(proofOf(NOT_ON_HOST, [onHost, onHost]).failures).toMatchObject([
      { rules: ["rule 1", "rule 2"], place: 0 },
    ]);
    const [failure] = proofOf(NOT_ON_HOST, [], { default: { sandboxes: ["host"] } }).failures;
    expect(failure).toMatchObject({ rules: [] });
    expect(failure).not.toHaveProperty("place");
  });

  test("names no tools if it is about none", () => {
    expect(proofOf({ never: { tools: ["other"] } }, [onHost])).toMatchObject({
      verdict: "proved",
      tools: [],
    });
  });
});

describe("proveInvariants", () => {
  const options = { rules: [inQuickJs] };

  test("proves invariants over rules in code", () => {
    expect(proveInvariants(options, [NOT_ON_HOST, ASKED], [COMMAND])).toMatchObject([
      { verdict: "proved" },
      { name: "invariant 2", verdict: "broken" },
    ]);
  });

  test.each<[string, unknown, unknown, string]>([
    ["rules", { rules: [{ tools: ["x"] }] }, [], "'effect' is missing"],
    ["invariants", options, [{ never: { tool: ["x"] } }], "/0/never/tool unknown key 'tool'"],
    [
      "origins",
      options,
      [{ never: { capabilities: { net: { outside: ["https://a:0"] } } } }],
      "must have a port",
    ],
  ])("throws a TypeError for invalid %s", (_, given, invariants, message) => {
    expect(() => proveInvariants(given as never, invariants as never, [COMMAND])).toThrow(TypeError);
    expect(() => proveInvariants(given as never, invariants as never, [COMMAND])).toThrow(message);
  });
});
