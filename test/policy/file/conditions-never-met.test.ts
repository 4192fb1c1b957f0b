import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ConfigError } from "../../../src/config/problem.ts";
import { ConfigSource } from "../../../src/config/source.ts";
import type { JsonObject, JsonValue } from "../../../src/json/value.ts";
import type { PolicyTool } from "../../../src/policy/file/checked-rule.ts";
// Inside: a property: what is said to be never met is tried with values that a schema has.
import { whyNever } from "../../../src/policy/file/possible-matches.ts";
import { readPolicy } from "../../../src/policy/file/read.ts";
import { valuesAt, valuesOf } from "../../../src/policy/possible/possible-values.ts";
import { compileCondition } from "../../../src/policy/rule/conditions/condition.ts";
import type { RuleCondition } from "../../../src/policy/rule/rule.ts";
import { compileSchema } from "../../../src/schema/compiled-schema.ts";

const deploy: PolicyTool = {
  name: "deploy",
  sandboxes: ["host"],
  sideEffects: "write",
  access: { paths: [{ argument: "/file", access: "read" }] },
  inputSchema: {
    type: "object",
    additionalProperties: false,
    required: ["environment", "to"],
    properties: {
      environment: { enum: ["staging", "production"] },
      count: { type: "integer", minimum: 1, maximum: 10 },
      code: { type: "string", maxLength: 4 },
      id: { type: "string", pattern: "^[a-z]+$" },
      force: { type: "boolean" },
      to: { type: "string", minLength: 1 },
      cc: { type: "string" },
      names: { type: "array", items: { enum: ["a", "b"] } },
      target: {
        oneOf: [{ $ref: "#/$defs/host" }, { type: "object", properties: { region: { const: "eu" } } }],
      },
      path: { type: "string" },
      file: { type: "string" },
    },
    $defs: { host: { type: "string", maxLength: 10 } },
  },
};

const shell: PolicyTool = {
  name: "run_command",
  sandboxes: ["host"],
  sideEffects: "execute",
  inputSchema: {
    type: "object",
    additionalProperties: false,
    properties: { command: { type: "string" }, argv: { type: "array" } },
  },
};

/** Returns the problems of a policy with one rule, as `line:column severity message`. */
function problemsOf(rule: string, effect = "deny"): readonly string[] {
  const use = effect === "deny" ? "" : ", sandboxes: [host]";
  const text = `rules:\n  - { effect: ${effect}, ${rule}${use} }\n`;
  const show = ({ line, severity, message }: ConfigError["problems"][number]): string =>
    `${line} ${severity}: ${message}`;
  try {
    return readPolicy(ConfigSource.parse(text, "p.yaml"), [], [deploy, shell]).warnings.map(show);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.problems.map(show);
  }
}

describe("a rule that denies or asks, and can never match, is an error with the reason; one that allows is a warning", () => {
  test.each<[string, string]>([
    ["/environment: { equals: prod }", `"prod" is not one of the possible values: "staging", "production"`],
    ["/environment: { oneOf: [prod, test] }", `none of "prod", "test" is one of the possible values`],
    ["/environment: { prefix: prod- }", `it matches none of the possible values: "staging", "production"`],
    ["/environment: { regex: '^dev' }", "it matches none of the possible values"],
    ["/environment: { not: { oneOf: [staging, production] } }", "meets the condition that it must not meet"],
    ["/environment: { all: [{ equals: staging }, { equals: production }] }", "all of these conditions"],
    ["/count: { equals: '5' }", `"5" is not a value that the schema allows here`],
    ["/count: { equals: 11 }", "is not a value that the schema allows here"],
    ["/count: { range: { min: 11 } }", "no number that is possible here is in this range"],
    ["/count: { range: { min: 1.2, max: 1.8 } }", "no number that is possible here is in this range"],
    ["/code: { equals: abcde }", "is not a value that the schema allows here"],
    ["/code: { prefix: abcde }", "no text that the schema allows here matches it: maxLength 4"],
    ["/id: { equals: A1 }", "is not a value that the schema allows here"],
    ["/force: { equals: yes }", "is not one of the possible values"],
    ["/names/*: { equals: c }", `is not one of the possible values: "a", "b"`],
    ["/names/*: { not: { oneOf: [a, b] } }", "must not meet"],
    ["/target: { equals: a-long-host-name }", "is not a value that the schema allows here"],
    ["/target/region: { equals: us }", `is not one of the possible values: "eu"`],
    ["/path: { glob: './src/**' }", "write 'src/**'"],
    ["/path: { glob: 'src/../*' }", "every text that it could match is ambiguous"],
    ["/path: { prefix: ../ }", "every text that it could match is ambiguous"],
    [
      "principal/atributes/team: { equals: a }",
      "a principal has no 'atributes/team': did you mean 'attributes'?",
    ],
    ["principal/kind: { equals: robot }", `is not one of the possible values: "user", "agent", "service"`],
    ["principal/roles: { equals: admin }", "is not a value that the schema allows here"],
    ["session/workspce: { equals: a }", "a session has no 'workspce', it has id"],
    ["session/id: { equals: 5 }", "is not a value that the schema allows here"],
  ])("%s", (when, reason) => {
    const rule = `tools: [deploy], when: { "${when.replace(":", '":')} }`;
    for (const [effect, severity] of [
      ["deny", "error"],
      ["ask", "error"],
      ["allow", "warning"],
    ] as const) {
      const [problem = ""] = problemsOf(rule, effect);
      expect(problem).toContain(reason);
      expect(problem.startsWith(`2 ${severity}: `)).toBe(true);
    }
  });

  test.each([
    ["roles: ['contractor-*']", "take no patterns"],
    ["absent: [/to]", "'/to' is required, and never empty"],
  ])("%s", (member, reason) => {
    const [problem = ""] = problemsOf(`tools: [deploy], ${member}`);
    expect(problem).toContain(reason);
    expect(problem.startsWith("2 error: ")).toBe(true);
  });

  test("an argument that is absent whatever the call is makes an allow rule match more than it should", () => {
    expect(problemsOf("tools: [deploy], absent: [/ccc]", "allow")).toEqual([
      "2 error: the input of tool 'deploy' has no '/ccc': did you mean '/cc'?".replace("'/cc'", "'cc'"),
    ]);
  });

  test("a pattern of a declared path that only its other spellings match is a warning, since the rule applies", () => {
    const [problem = ""] = problemsOf(`tools: [deploy], when: { /file: { glob: "./src/**" } }`);
    expect(problem.startsWith("2 warning: ")).toBe(true);
  });

  test("conditions that some call meets are no problem", () => {
    for (const when of [
      "/environment: { equals: staging }",
      "/environment: { not: { equals: staging } }",
      "/count: { range: { min: 10 } }",
      "/code: { prefix: abcd }",
      "/names/*: { equals: a }",
      "/target: { equals: host }",
      "/target/region: { equals: eu }",
      "/path: { glob: ['**/.env*', '/etc/**'] }",
      "/path: { prefix: .. }",
      "/path: { not: { glob: 'src/**' } }",
      "principal/id: { prefix: 'a' }",
      "principal/attributes/anything/below: { equals: 5 }",
      "principal/roles/0: { equals: admin }",
      "session/id: { prefix: s }",
    ]) {
      const rule = `tools: [deploy], when: { "${when.replace(":", '":')} }`;
      expect(problemsOf(rule)).toEqual([]);
      expect(problemsOf(rule, "allow")).toEqual([]);
    }
  });

  test("a wildcard may match tools that cannot meet a condition, if one can", () => {
    expect(problemsOf(`tools: ["*"], when: { /environment: { equals: staging } }`)).toEqual([]);
    const [problem = ""] = problemsOf(`tools: ["*"], when: { /environment: { equals: prod } }`);
    expect(problem).toContain("(tool 'deploy')");
  });

  test("a value of a list that is never met is a warning at its place", () => {
    expect(problemsOf(`tools: [deploy], when: { /environment: { oneOf: [staging, prod] } }`)).toEqual([
      `2 warning: "prod" is not one of the possible values: "staging", "production"`,
    ]);
  });
});

describe("a reference to what no call has is an error", () => {
  test.each([
    ["/to: { equals: { argument: /ccc } }", "the input of tool 'deploy' has no '/ccc': did you mean 'cc'?"],
    ["/to: { not: { oneOf: [a, { argument: /ccc }] } }", "always unclear, and the rule always applies"],
    ["/to: { equals: { principal: /tenant } }", "a principal has no '/tenant'"],
    ["/path: { glob: { segments: [{ principal: /roless }] } }", "did you mean 'roles'?"],
  ])("%s", (when, reason) => {
    const [problem = "", ...others] = problemsOf(`tools: [deploy], when: { ${when} }`);
    expect(problem).toMatch(/^2 error: /);
    expect(problem).toContain(reason);
    expect(others).toEqual([]);
  });

  test.each([
    "/to: { equals: { argument: /cc } }",
    "/to: { not: { equals: { principal: /attributes/tenant } } }",
    "/count: { range: { max: { principal: /attributes/limit } } }",
    "/path: { glob: { segments: [{ principal: /id }, '**'] } }",
  ])("and %s is none", (when) => {
    expect(problemsOf(`tools: [deploy], when: { ${when} }`)).toEqual([]);
  });
});

describe("a text that looks like something else is a warning", () => {
  test.each([
    [
      "/to: { equals: principal/attributes/tenant }",
      "is this text itself, and no reference: for a reference, write { principal: /attributes/tenant }",
    ],
    ["/to: { equals: /cc }", "for a reference, write { argument: /cc }"],
    ["/to: { not: { equals: session/id } }", "is this text itself"],
    ["/to: { oneOf: [a, '{{user}}'] }", "is this text itself"],
    ["/path: { glob: '$HOME/.ssh/**' }", "is this text itself"],
    ["/path: { glob: '~/.ssh/**' }", "'~' is not expanded"],
  ])("%s", (when, reason) => {
    const [problem = "", ...others] = problemsOf(`tools: [deploy], when: { ${when} }`);
    expect(problem).toMatch(/^2 warning: /);
    expect(problem).toContain(reason);
    expect(others).toEqual([]);
  });

  test("texts that look like paths, prices and addresses are none", () => {
    for (const text of ["/etc/passwd", "$5", "principal", "user/name", "a@b.c", "100%"]) {
      expect(problemsOf(`tools: [deploy], when: { /to: { equals: "${text}" } }`)).toEqual([]);
    }
  });
});

describe("a rule on the text of a command warns that it bounds nothing", () => {
  test.each([
    ["{ prefix: 'git ' }", "allow", `also allows "git ; curl evil.example"`],
    ["{ glob: 'git *' }", "allow", "also allows"],
    ["{ regex: '^git status' }", "allow", `also allows "git status; curl evil.example"`],
    ["{ prefix: 'rm ' }", "deny", `does not deny "true; rm "`],
    ["{ glob: 'rm *' }", "deny", "does not deny"],
    ["{ prefix: 'rm ' }", "ask", "does not ask about"],
  ])("%s, to %s", (condition, effect, reason) => {
    const [problem = ""] = problemsOf(`tools: [run_command], when: { /command: ${condition} }`, effect);
    expect(problem).toMatch(/^2 warning: this bounds nothing/);
    expect(problem).toContain(reason);
  });

  test("but whole commands, expressions for them, and other arguments are no problem", () => {
    for (const condition of ["{ oneOf: [git status, git diff] }", "{ regex: '^git (status|diff)$' }"])
      expect(problemsOf(`tools: [run_command], when: { /command: ${condition} }`, "allow")).toEqual([]);
    expect(problemsOf("tools: [run_command], when: { /argv/0: { prefix: git } }", "allow")).toEqual([]);
    expect(problemsOf("tools: [deploy], when: { /to: { prefix: git } }", "allow")).toEqual([]);
  });
});

describe("no condition that a valid value meets is said to be never met", () => {
  const scalar = fc.constantFrom<JsonValue[]>("a", "ab", "b/c", "", 0, 1, 2.5, -3, true, false, null);
  const leaf: fc.Arbitrary<JsonObject> = fc.oneof(
    fc.record({ type: fc.constantFrom("string", "integer", "number", "boolean", "null") }),
    fc.record({
      type: fc.uniqueArray(fc.constantFrom("string", "integer", "array", "object"), { minLength: 1 }),
    }),
    fc.record({ enum: fc.uniqueArray(scalar, { minLength: 1, maxLength: 4 }) }),
    fc.record({ const: scalar }),
    fc.record({ minLength: fc.nat(2), maxLength: fc.integer({ min: 1, max: 3 }) }),
    fc.record({
      minimum: fc.integer({ min: -3, max: 2 }),
      exclusiveMaximum: fc.integer({ min: -1, max: 3 }),
    }),
    fc.record({ pattern: fc.constantFrom("^a", "b$", "^[ab]*$") }),
    fc.constant({}),
    fc.constant({ $ref: "#/$defs/shared" }),
  );
  const schema: fc.Arbitrary<JsonObject> = fc.oneof(
    { weight: 3, arbitrary: leaf },
    fc.record({ anyOf: fc.array(leaf, { minLength: 1, maxLength: 3 }) }),
    fc.record({
      oneOf: fc.array(leaf, { minLength: 1, maxLength: 3 }),
      type: fc.constantFrom("string", "number"),
    }),
    fc.record({ allOf: fc.array(leaf, { minLength: 1, maxLength: 2 }) }),
    fc.record({ not: leaf }),
    fc.record({ type: fc.constant("array"), items: leaf, maxItems: fc.nat(2) }),
    fc.record({
      type: fc.constant("object"),
      properties: fc.dictionary(fc.constantFrom("a", "0"), leaf, { maxKeys: 2 }),
      additionalProperties: fc.oneof(fc.boolean(), leaf),
      required: fc.subarray(["a"]),
    }),
  );
  const value: fc.Arbitrary<JsonValue> = fc.oneof(
    scalar,
    fc.array(scalar, { maxLength: 2 }),
    fc.dictionary(fc.constantFrom("a", "0", "b"), scalar, { maxKeys: 2 }),
  );
  const simple: fc.Arbitrary<RuleCondition> = fc.oneof(
    fc.record({ equals: value }),
    fc.record({ oneOf: fc.array(value, { minLength: 1, maxLength: 3 }) }),
    fc.record({ prefix: fc.constantFrom("a", "ab", "b/", "./", "abcd") }),
    fc.record({
      glob: fc.constantFrom<(string | string[])[]>("a", "**", "a*", "b/?", "./a", ["./a", "b/*"], "{a,b}/c"),
    }),
    fc.record({ regex: fc.constantFrom("a", "^b", "c$") }),
    fc.record({ range: fc.record({ min: fc.integer({ min: -3, max: 3 }) }) }),
    fc.record({ range: fc.record({ max: fc.double({ min: -3, max: 3, noNaN: true }) }) }),
  );
  const condition: fc.Arbitrary<RuleCondition> = fc.letrec<{ one: RuleCondition }>((tie) => ({
    one: fc.oneof(
      { maxDepth: 2, depthSize: "small" },
      simple,
      fc.record({ not: tie("one") }),
      fc.record({ all: fc.array(tie("one"), { minLength: 1, maxLength: 2 }) }),
      fc.record({ any: fc.array(tie("one"), { minLength: 1, maxLength: 2 }) }),
    ) as fc.Arbitrary<RuleCondition>,
  })).one;
  const VALUES = fc.sample(value, { numRuns: 300, seed: 1 });

  test("at the root of a schema, and at a member or item", () => {
    let never = 0;
    fc.assert(
      fc.property(
        schema,
        leaf,
        condition,
        fc.constantFrom([], ["a"], ["0"], ["*"]),
        (own, shared, required, steps) => {
          const root: JsonObject = { ...own, $defs: { shared: shared["$ref"] === undefined ? shared : {} } };
          const values = steps.reduce((each, step) => valuesAt(root, each, step), valuesOf(root));
          const why = values.length === 0 ? "nothing is there" : whyNever(root, values, required);
          if (why === undefined) return;
          never++;
          const compiled = compileSchema(root);
          const meets = compileCondition(`${steps.map((step) => `/${step}`).join("")}`, required);
          for (const input of VALUES) {
            if (compiled.validate(input) !== undefined) continue;
            expect(meets({ input, sessionId: "" }), JSON.stringify({ input, why })).not.toBe("yes");
          }
        },
      ),
      { numRuns: 3_000 },
    );
    expect(never).toBeGreaterThan(100);
  });
});

describe("conditions on one argument are compared with each other", () => {
  test.each([
    "when: { /count: { all: [{ range: { min: 7 } }, { range: { max: 3 } }] } }",
    "when: { /environment: { equals: staging }, all: [{ /environment: { equals: production } }] }",
    "when: { /to: { prefix: a }, all: [{ /to: { prefix: b } }] }",
    "when: { /to: { regex: a }, all: [{ /to: { not: { regex: a } } }] }",
    "when: { /count: { range: { min: 7 } }, any: [{ /count: { range: { max: 3 } } }] }",
    "when: { /to: { equals: x } }, absent: [/to]",
    "when: { /cc: { equals: x } }, absent: [/cc]",
    "when: { /force: { from: [user] } }",
    "when: { /code: { glob: 'abcde*' } }",
    "when: { /to: { not: { regex: '.*' } } }",
    "history: [{ count: [deploy], lessThan: 2, in: session }, { count: [deploy], atLeast: 5, in: session }]",
  ])("%s", (rule) => {
    expect(problemsOf(`tools: [deploy], ${rule}`)).toEqual([expect.stringMatching(/^\d+ error: /)]);
  });

  test.each([
    "when: { /count: { all: [{ range: { min: 3 } }, { range: { max: 7 } }] } }",
    "when: { /cc: { prefix: a }, all: [{ /cc: { prefix: ab } }] }",
    "when: { any: [{ /count: { range: { min: 7 } } }, { /count: { range: { max: 3 } } }] }",
    "when: { /cc: { not: { equals: x } } }, absent: [/cc]",
  ])("and those that some value meets are not reported: %s", (rule) => {
    expect(problemsOf(`tools: [deploy], ${rule}`)).toEqual([]);
  });

  test("a condition below 'not' that nothing can meet bounds nothing", () => {
    expect(problemsOf("tools: [deploy], when: { /environment: { not: { equals: prod } } }", "allow")).toEqual(
      [expect.stringMatching(/'not' holds for every value, and bounds nothing/)],
    );
  });
});
