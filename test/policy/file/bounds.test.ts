import { describe, expect, test } from "vitest";
import type { ConfigError, ConfigProblem } from "../../../src/config/problem.ts";
import { ConfigSource } from "../../../src/config/source.ts";
import type { PolicyTool } from "../../../src/policy/file/checked-rule.ts";
import { type LoadedPolicy, readPolicy } from "../../../src/policy/file/read.ts";
import { proveInvariants } from "../../../src/policy/proof/prove.ts";

const TOOLS = Array.from({ length: 20 }, (_, index): PolicyTool => {
  const inputSchema = { type: "object", properties: { path: { type: "string" } } } as const;
  return { name: `tool_${index}`, sideEffects: "write", sandboxes: ["host", "quickjs"], inputSchema };
});
const ALLOW = "effect: allow, sandboxes: [host]";

function load(text: string): LoadedPolicy {
  return readPolicy(ConfigSource.parse(text, "p.yaml"), [], TOOLS);
}

function problemsOf(text: string): readonly ConfigProblem[] {
  try {
    return load(text).warnings;
  } catch (error) {
    return (error as ConfigError).problems;
  }
}

/** Returns the lines of a file, one for each number below `count`. */
function lines(count: number, line: (index: number) => string): string {
  return Array.from({ length: count }, (_, index) => `${line(index)}\n`).join("");
}

describe("a policy file is refused, at the part that is too large, if it has", () => {
  test.each([
    ["examples", "tools: [tool_1], examples: { match: [", "{ arguments: {} }", "] }"],
    ["names of variables", "tools: [tool_1], capabilities: { env: [", "A", "] }"],
    ["names of tools to call", "tools: [tool_1], capabilities: { tools: [", "a", "] }"],
    ["origins", "tools: [tool_1], capabilities: { net: [", '"https://a.example.com"', "] }"],
  ])("more than 1,000 %s in one rule", (_, before, item, after) => {
    const textOf = (count: number): string =>
      `rules:\n- { ${ALLOW}, ${before}${Array.from({ length: count }, () => item).join(",")}${after} }\n`;
    expect(problemsOf(textOf(1_001)).map(({ message }) => message)).toContain("must have at most 1000 items");
    expect(
      problemsOf(textOf(1_000))
        .map(({ message }) => message)
        .join(),
    ).not.toContain("at most");
  });

  test.each([
    ["asked", (index: number) => `asked: "[ab${index}]{1,999}"`],
    ["a condition", (index: number) => `when: { /path: { regex: "([ab${index}]{1,999})+" } }`],
  ])("patterns in %s that are too large together", (_, patternAt) => {
    const text = `rules:\n${lines(600, (index) => `- { ${ALLOW}, tools: [tool_1], ${patternAt(index)} }`)}`;
    const problems = problemsOf(text);
    expect(problems.map(({ message, severity }) => [severity, message])).toEqual([
      [
        "error",
        "the patterns of the policy are larger than 500000 characters together, with their repetitions expanded",
      ],
    ]);
    expect(problems[0]?.line).toBe(2 + Math.floor(500_000 / (999 + 8)));
  });

  test("more invariants than can be proved for its rules and tools", () => {
    const grants = lines(
      1_000,
      (index) => `- { ${ALLOW}, tools: ["*"], when: { /path: { equals: a${index} } } }`,
    );
    const invariants = lines(
      200,
      () => "- never: { tools: [tool_1, tool_2, tool_3, tool_4, tool_5, tool_6], sandboxes: [host] }",
    );
    const text = `rules:\n${grants}invariants:\n${invariants}`;
    expect(problemsOf(text)).toMatchObject([
      { line: 1_003, message: expect.stringMatching(/^the invariants need more than 1000000 comparisons/) },
    ]);
  });
});

test("a large policy whose rules grant the same is proved for many invariants", () => {
  const grants = lines(
    1_000,
    (index) => `- { ${ALLOW}, tools: ["*"], when: { /path: { equals: a${index} } } }`,
  );
  const invariants = lines(1_000, () => "- never: { tools: ['*'], sandboxes: [quickjs] }");
  const { proofs } = load(`rules:\n${grants}invariants:\n${invariants}`);
  expect(proofs.filter(({ verdict }) => verdict === "proved")).toHaveLength(1_000);
});

test("the same pattern in many rules counts once, and each invalid one is reported", () => {
  const rules = (asked: string): string =>
    `rules:\n${lines(600, (index) => `- { ${ALLOW}, tools: [tool_1], asked: '${asked}', limits: { wallTime: ${index + 1}s } }`)}`;
  expect(problemsOf(rules("[ab]{1,999}"))).toEqual([]);
  expect(problemsOf(rules("(a"))).toHaveLength(600);
});

test("each rule with a flaw is left out, and the others are checked further", () => {
  const flawed = (index: number): string => `- { ${ALLOW}, tools: [tool_1], nam: r${index} }`;
  const missing = "- { effect: deny, tools: [tol_1] }";
  const text = `rules:\n${lines(500, (index) => (index % 2 === 0 ? flawed(index) : missing))}`;
  const problems = problemsOf(text);
  expect(problems).toHaveLength(500);
  expect(problems[0]?.message).toBe("unknown key 'nam': did you mean 'name'?");
  expect(problems[1]?.message).toBe("'tol_1' matches no registered tool: did you mean 'tool_1'?");
});

test("invariants over rules in code have the same bound", () => {
  const rules = Array.from({ length: 1_000 }, (_, index) => {
    return {
      tools: ["*"],
      effect: "allow",
      sandboxes: ["host"],
      when: { "/path": { equals: index } },
    } as const;
  });
  const invariants = Array.from({ length: 1_000 }, () => ({ never: { sandboxes: ["host" as const] } }));
  const subject = { name: "t", sideEffects: "read", sandboxes: ["host"], inputSchema: {} } as const;
  expect(() => proveInvariants({ rules }, invariants, [subject])).toThrow(TypeError);
});
