import { describe, expect, test } from "vitest";
import { ConfigError, formatProblem } from "../../../src/config/problem.ts";
import { ConfigSource } from "../../../src/config/source.ts";
import type { PolicyTool } from "../../../src/policy/file/checked-rule.ts";
import { type LoadedPolicy, readPolicy, readUnproved } from "../../../src/policy/file/read.ts";

const TOOLS: readonly PolicyTool[] = [
  {
    name: "run_command",
    tags: ["shell"],
    sandboxes: ["host", "quickjs"],
    inputSchema: { type: "object", properties: { program: { type: "string" } }, required: ["program"] },
  },
];
const RULES = `
rules:
  - tools: [run_command]
    effect: ask
    sandboxes: [quickjs]
  - name: scripts
    tools: [run_command]
    when: { /program: { prefix: scripts/ } }
    effect: allow
    sandboxes: [quickjs, host]
`;

function read(text: string, tools: readonly PolicyTool[] | undefined = TOOLS): LoadedPolicy {
  return readPolicy(ConfigSource.parse(text, "p.yaml"), [], tools);
}

function problemsOf(text: string, tools: readonly PolicyTool[] | undefined = TOOLS): string[] {
  try {
    return read(text, tools).warnings.map(formatProblem);
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    return (error as ConfigError).problems.map(formatProblem);
  }
}

describe("the invariants of a policy file", () => {
  test("are proved when the file is read", () => {
    const { proofs, warnings } = read(`${RULES}
invariants:
  - never: { tools: [run_command], sandboxes: [host] }
  - { name: asked, always: { sideEffects: [destructive], effect: ask } }
  - never: { capabilities: { net: any, fs: write, tools: [x], secrets: any }, tags: [shell] }
  - never: { capabilities: { net: { outside: ["https://*.example.com"] } } }
`);
    expect(warnings).toEqual([]);
    expect(proofs).toMatchObject([
      { name: "invariant 1", verdict: "proved", tools: ["run_command"] },
      { name: "asked", verdict: "proved" },
      { name: "invariant 3", verdict: "proved" },
      { name: "invariant 4", verdict: "proved" },
    ]);
  });

  test("refuse the file if they do not hold, with the position of the rule and a call", () => {
    const text = `default: { sandboxes: [host] }
rules:
  - tools: [other]
    effect: deny
  - name: scripts
    tools: [run_command]
    when: { /program: { prefix: scripts/ } }
    effect: allow
    sandboxes: [quickjs, host]
  - tools: ["*"]
    when: { /program: { all: [{ regex: ^ab }, { regex: cd$ }] } }
    effect: ask
    sandboxes: [host]
invariants:
  - { name: no shell on the host, never: { tools: [run_command], sandboxes: [host] } }
`;
    expect(problemsOf(text).filter((line) => !line.includes("warning"))).toEqual([
      `p.yaml:1:10: the default breaks 'no shell on the host': run_command {"program":"a"} is allowed in host`,
      `p.yaml:5:5: this rule breaks 'no shell on the host': run_command {"program":"scripts/"} is allowed in quickjs or host`,
      `p.yaml:10:5: this rule breaks 'no shell on the host': run_command {"program":"abcd"} can run, once it is confirmed, in host`,
    ]);
    const { proofs } = readUnproved(ConfigSource.parse(text, "p.yaml"), [], TOOLS);
    expect(proofs).toMatchObject([{ verdict: "broken", failures: [{}, {}, {}] }]);
  });

  test("are reported as not proved if the file is read without tools", () => {
    expect(problemsOf(`${RULES}\ninvariants: [{ never: { sandboxes: [remote] } }]`, undefined)).toHaveLength(
      0,
    );
    const source = ConfigSource.parse(`${RULES}\ninvariants: [{ never: { sandboxes: [remote] } }]`, "p.yaml");
    expect(readPolicy(source, []).warnings.map(formatProblem)).toEqual([
      "p.yaml:12:13: warning: the invariants are not proved, since the policy was loaded without its tools",
    ]);
  });

  test("warn about names and tags that no tool has", () => {
    expect(
      problemsOf(
        `${RULES}\ninvariants: [{ never: { tools: [run_command, run_comand], tags: [shel], sandboxes: [wasm] } }]`,
      ),
    ).toEqual([
      "p.yaml:12:46: warning: 'run_comand' matches no registered tool: did you mean 'run_command'?",
      "p.yaml:12:66: warning: no registered tool has the tag 'shel': did you mean 'shell'?",
    ]);
  });

  test.each([
    ["{ never: { sandboxes: [moon] } }", "must be one of host, wasm"],
    ["{ never: {} }", "must not be empty"],
    ["{ always: { effect: ask } }", "must have a member besides 'effect'"],
    ["{ always: { tools: [x] } }", "'effect' is missing"],
    [
      "{ always: { tools: [x], effect: deny } }",
      "must be 'ask': write 'never' for calls that must be denied",
    ],
    ["{ name: x }", "must have exactly one of never, always"],
    [
      "{ never: { tools: [x] }, always: { tools: [x], effect: ask } }",
      "must have exactly one of never, always",
    ],
    ["{ never: { capabilities: { randomSeed: any } } }", "unknown key 'randomSeed'"],
    [
      "{ never: { capabilities: { net: all } } }",
      "must be 'any', or a map with 'outside' and a list of origins",
    ],
    ["{ never: { capabilities: { net: { outside: [example.com] } } } }", "must be an origin in lower case"],
    [
      "{ never: { capabilities: { net: { outside: ['https://a:99999'] } } } }",
      "must have a port from 1 to 65535",
    ],
  ])("are refused if their form is wrong: %s", (invariant, message) => {
    const [problem = ""] = problemsOf(`${RULES}\ninvariants:\n  - ${invariant}`);
    expect(problem).toMatch(/^p\.yaml:13:/);
    expect(problem).toContain(message);
  });
});
