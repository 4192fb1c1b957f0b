import { describe, expect, test } from "vitest";
import { ConfigError } from "../../../src/config/problem.ts";
import { ConfigSource } from "../../../src/config/source.ts";
import type { PolicyTool } from "../../../src/policy/file/checked-rule.ts";
import { readPolicy } from "../../../src/policy/file/read.ts";

const send: PolicyTool = {
  name: "send",
  sandboxes: ["quickjs", "host"],
  sideEffects: "write",
  inputSchema: {
    type: "object",
    additionalProperties: false,
    properties: {
      to: { type: "string" },
      options: { type: "object", properties: { cc: { type: "string" } } },
    },
  },
};

const find: PolicyTool = {
  name: "find",
  sandboxes: ["quickjs"],
  sideEffects: "none",
  inputSchema: { type: "object" },
  outputSchema: { type: "object", properties: { email: { type: "string" } } },
};

/** Returns the problems of the rules of a policy, as `line severity: message`. */
function problemsOf(rules: readonly string[], more = ""): readonly string[] {
  const text = `rules:\n${rules.map((rule) => `  - { ${rule} }\n`).join("")}${more}`;
  const show = ({ line, severity, message }: ConfigError["problems"][number]): string =>
    `${line} ${severity}: ${message}`;
  try {
    return readPolicy(ConfigSource.parse(text, "p.yaml"), [], [send, find]).warnings.map(show);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.problems.map(show);
  }
}

const ALLOW = "tools: [send], effect: allow, sandboxes: [quickjs]";
const FIND = "tools: [find], effect: allow, sandboxes: [quickjs]";

describe("a part of a rule without which it is the same is a warning", () => {
  test.each([
    ["principals: [ann, bob, ann]", "the same stands before: remove this"],
    ["roles: [admin, admin]", "the same stands before"],
    ["absent: [/to, /to]", "the same stands before"],
    ["when: { /to: { oneOf: [a, a] } }", "the same stands before"],
    ["when: { /to: { any: [{ prefix: a }, { prefix: a }] } }", "the same stands before"],
    ["when: { /to: { from: [user, user] } }", "the same stands before"],
    ["when: {}", "no condition is here, which every call meets"],
    ["when: { any: [{ /to: { equals: a } }, {}] }", "no condition is here"],
    ["when: { all: [{ any: [{}] }] }", "no condition is here"],
    ["capabilities: { net: [] }", "this grants nothing, as a rule without it does"],
    [
      "capabilities: { net: ['https://a.example', 'https://*.example'] }",
      "'https://*.example' grants this, too",
    ],
    ["principals: ['ann ']", "write 'ann' without the white space"],
  ])("%s", (part, reason) => {
    expect(problemsOf([`${ALLOW}, ${part}`])).toEqual([expect.stringContaining(`2 warning: ${""}`)]);
    expect(problemsOf([`${ALLOW}, ${part}`])[0]).toContain(reason);
  });

  test.each([
    "when: { /to: { equals: a }, any: [{ /to: { prefix: a } }] }",
    "when: { /options: { equals: { cc: a } } }",
    "when: { /options: { oneOf: [{ list: [1, 1] }, { list: [1] }] } }",
    "capabilities: { net: ['https://a.example', 'https://b.example'] }",
    "examples: { match: [{ arguments: { to: a } }, { arguments: { to: a } }] }",
  ])("but one that changes something is not a problem: %s", (part) => {
    expect(problemsOf([`${ALLOW}, ${part}`])).toEqual([]);
  });
});

describe("a rule that never matches", () => {
  test.each([
    ["asked: '^b$a'", "no text at all matches this regular expression"],
    [
      "absent: [/options], when: { /options/cc: { equals: a } }",
      "is only met by a value: the rule never matches",
    ],
  ])("is an error if it denies or asks: %s", (part, reason) => {
    for (const [rule, severity] of [
      [`tools: [send], effect: deny, ${part}`, "error"],
      [`${ALLOW}, ${part}`, "warning"],
    ] as const) {
      const [problem = ""] = problemsOf([rule]);
      expect(problem).toContain(`2 ${severity}: `);
      expect(problem).toContain(reason);
    }
  });
});

describe("a field of results that is spelled nearly as one of the schema", () => {
  test("is a warning, although the schema allows others", () => {
    const from = (field: string) => `${ALLOW}, when: { /to: { from: [{ tool: find, field: ${field} }] } }`;
    expect(problemsOf([from("/emial"), FIND])).toEqual([
      "2 warning: the results of 'find' have no '/emial': did you mean 'email'?",
    ]);
    expect(problemsOf([from("/phone"), FIND])).toEqual([]);
  });
});

describe("a rule that grants what the policy grants by default", () => {
  const NO_EFFECT =
    "2 warning: this rule has no effect: 'default' grants the same to calls that no rule matches";

  test("has no effect", () => {
    expect(problemsOf([ALLOW], "default: { sandboxes: [quickjs] }\n")).toEqual([NO_EFFECT]);
    expect(
      problemsOf([`${ALLOW}, when: { /to: { equals: a } }`, FIND], "default: { sandboxes: [quickjs] }\n"),
    ).toEqual([NO_EFFECT, NO_EFFECT.replace("2", "3")]);
  });

  test.each([
    ["the default asks", "default: { effect: ask, sandboxes: [quickjs] }\n", []],
    ["it grants something else", "default: { sandboxes: [host] }\n", []],
    ["it has other limits", "default: { sandboxes: [quickjs], limits: { wallTime: 1s } }\n", []],
    [
      "it bounds what another rule grants",
      "default: { sandboxes: [quickjs] }\n",
      [ALLOW.replace("[quickjs]", "[quickjs, host]")],
    ],
  ])("has one if %s", (_, byDefault, others) => {
    const problems = problemsOf([ALLOW, ...others], byDefault);
    expect(problems.filter((problem) => problem.startsWith("2 "))).toEqual([]);
  });
});
