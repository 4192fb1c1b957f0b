import { describe, expect, test } from "vitest";
import { formatProblem } from "../../../src/config/problem.ts";
import { ConfigSource } from "../../../src/config/source.ts";
import { readPolicy } from "../../../src/policy/file/read.ts";
import type { PolicyRule } from "../../../src/policy/rule/rule.ts";
import { RulePolicy } from "../../../src/policy/rule/rule-policy.ts";

/** Returns the problems of a policy file with this rule. */
function problemsOf(rule: string): readonly string[] {
  try {
    readPolicy(ConfigSource.parse(`rules:\n${rule}`, "p.yaml"), []);
    return [];
  } catch (error) {
    return (error as { problems: Parameters<typeof formatProblem>[0][] }).problems.map(formatProblem);
  }
}

const RULE: PolicyRule = {
  name: "sources",
  tools: ["read_file"],
  effect: "allow",
  sandboxes: ["host"],
  until: "2001-01-01",
  when: { "/path": { glob: "src/**" } },
  principals: ["staff:*"],
};
const staff = { id: "staff:eve", kind: "user" } as const;
const load = (rule: Partial<PolicyRule>): RulePolicy =>
  new RulePolicy({ rules: [{ ...RULE, ...rule } as PolicyRule] });

describe("The examples of a rule", () => {
  test("are accepted if the rule applies to those that match, and to none of the others", () => {
    const match = [{ arguments: { path: "src/a.ts" }, principal: staff }];
    const noMatch = [
      { arguments: { path: "lib/a.ts" }, principal: staff },
      { arguments: { path: "src/../secret" }, principal: staff },
      { arguments: { path: "src/a.ts" } },
    ];
    expect(() => load({ examples: { match, noMatch } })).not.toThrow();
  });

  test("fail with a TypeError in code, which names the rule and the example", () => {
    const secret = { path: "src/../SECRET" };
    expect(() => load({ examples: { match: [{ arguments: secret, principal: staff }] } })).toThrow(
      new TypeError(
        "rule 1 ('sources'): /examples/match/0 it is unclear whether the rule matches this example, so it allows nothing: /path (glob), unclear",
      ),
    );
    expect(() => load({ examples: { match: [{ arguments: {}, principal: { id: "" } as never }] } })).toThrow(
      "/examples/match/0 a principal's id must be a string",
    );
    expect(() => load({ examples: { match: [{ arguments: {} }], matches: [] } as never })).toThrow(
      "unknown key 'matches': did you mean 'match'?",
    );
  });

  test("fail with their line and column in a file", () => {
    expect(
      problemsOf(`
  - tools: [read_file]
    effect: deny
    when: { /path: { glob: "**/*.key" } }
    examples:
      match:
        - arguments: { path: a.key }
        - arguments: { path: a.txt }
        - arguments: { path: ../a.key }
      noMatch:
        - arguments: { path: a.txt }
        - arguments: { path: b/a.key }
        - arguments: { path: ../a.txt }
`),
    ).toEqual([
      "p.yaml:9:11: the rule does not match this example: /path (glob)",
      "p.yaml:13:11: the rule matches this example",
      "p.yaml:14:11: it is unclear whether the rule matches this example, so it applies: /path (glob), unclear",
    ]);
  });

  test("are checked without the conditions on earlier calls, of which they have none", () => {
    const history = [{ count: ["*"], in: "session", lessThan: 3 }] as const;
    const match = [{ arguments: { path: "src/a.ts" }, principal: staff }];
    expect(() => load({ history, examples: { match } })).not.toThrow();
  });

  test("are not checked for a rule whose conditions are not valid", () => {
    expect(
      problemsOf(`
  - tools: [read_file]
    effect: deny
    when: { /path: { glob: "!a" } }
    examples: { match: [{ arguments: {} }] }
`),
    ).toEqual([expect.stringContaining("a glob cannot be negated")]);
  });
});
