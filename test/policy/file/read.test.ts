import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ConfigError, formatProblem } from "../../../src/config/problem.ts";
import { ConfigSource } from "../../../src/config/source.ts";
import { CanonicalJson } from "../../../src/json/canonical.ts";
import type { JsonObject } from "../../../src/json/value.ts";
import type { PolicyTool } from "../../../src/policy/file/checked-rule.ts";
import { loadPolicyFile } from "../../../src/policy/file/load.ts";
import { type LoadedPolicy, readPolicy } from "../../../src/policy/file/read.ts";
import type { PolicyRequest, PolicySubject } from "../../../src/policy/policy.ts";

const TOOLS: readonly PolicyTool[] = [
  {
    name: "read_file",
    sideEffects: "read",
    sandboxes: ["host", "quickjs"],
    inputSchema: {
      type: "object",
      properties: { path: { type: "string" }, depth: { type: "integer" } },
      additionalProperties: false,
    },
  },
  {
    name: "fetch",
    sandboxes: ["remote"],
    inputSchema: { type: "object", properties: { url: { type: "string" } } },
  },
];

function request(input: JsonObject, tool: PolicySubject): PolicyRequest {
  return { callId: "c", sessionId: "s", input, canonical: new CanonicalJson(input), tool };
}

function read(text: string, tools: readonly PolicyTool[] | undefined = TOOLS): LoadedPolicy {
  return readPolicy(ConfigSource.parse(text, "p.yaml"), [], tools);
}

/** Returns every problem of a policy, whether or not it is refused, as operators read it. */
function problemsOf(text: string): string[] {
  try {
    return read(text).warnings.map(formatProblem);
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    return (error as ConfigError).problems.map(formatProblem);
  }
}

const POLICY = `
default: deny
rules:
  - name: project files
    tools: [read_file]
    sideEffects: [read]
    when:
      /path: { glob: "/project/**" }
      /depth: { range: { max: 3 } }
    effect: allow
    sandboxes: [quickjs, host]
    limits: { wallTime: 2s, memory: 64MiB, output: 4096, stack: 128KiB, logLines: 10, nestedCalls: 2 }
    capabilities: { clock: true, tools: [read_*], frozenClock: 0, randomSeed: again }
  - tools: ["*"]
    effect: deny
    when:
      /url: { prefix: "http:" }
`;

describe("a policy file", () => {
  test("a policy file decides like the same policy in code", () => {
    const { policy, warnings } = read(POLICY);
    expect(warnings).toEqual([]);
    const [tool] = TOOLS as readonly [PolicyTool];
    const subject = { ...tool, sideEffects: "read" as const };
    const input = { path: "/project/a.txt", depth: 2 };
    expect(policy.check(request(input, subject))).toEqual({
      decision: "allow",
      grant: {
        sandbox: "quickjs",
        limits: {
          wallTimeMs: 2_000,
          memoryBytes: 67_108_864,
          outputBytes: 4_096,
          stackBytes: 131_072,
          logLines: 10,
          nestedCalls: 2,
        },
        capabilities: { clock: true, tools: ["read_*"], frozenClock: 0, randomSeed: "again" },
      },
      sandboxes: ["quickjs", "host"],
      rules: ["project files"],
    });
    expect(policy.check(request({ path: "/etc/passwd" }, subject))).toEqual({
      decision: "deny",
      reason: "no rule allows this call",
      near: [{ rule: "project files", missed: "/path (glob); /depth (range)" }],
    });
  });

  test("a policy file names directories relative to itself, and reports capabilities that contradict each other", () => {
    const text = (fs: string): string =>
      `rules:\n  - tools: [read_file]\n    effect: allow\n    sandboxes: [host]\n    limits: { file: 1MiB, net: 64KiB }\n    capabilities: { fs: ${fs} }\n`;
    const source = ConfigSource.parse(
      text("[{ directory: data, at: /data, write: true }]"),
      "/srv/app/p.yaml",
    );
    const [tool] = TOOLS as readonly [PolicyTool];
    const subject = { ...tool, sideEffects: "read" as const };
    expect(readPolicy(source, []).policy.check(request({}, subject))).toMatchObject({
      grant: {
        limits: { fileBytes: 1_048_576, netBytes: 65_536 },
        capabilities: { fs: [{ directory: "/srv/app/data", at: "/data", write: true }] },
      },
    });
    expect(problemsOf(text("[{ directory: a }, { directory: b }]"))).toEqual([
      expect.stringContaining("'capabilities.fs' grants nothing with 'write: true'"),
      expect.stringContaining("'capabilities.net' grants no origin"),
      expect.stringMatching(/^p\.yaml:6:.*two things at the same path/),
    ]);
  });

  test("a policy can be part of another file", () => {
    const source = ConfigSource.parse(
      "tools: []\npolicy:\n  rules:\n    - tools: [x]\n      effect: dny\n",
      "s.yaml",
    );
    expect(() => readPolicy(source, ["policy"])).toThrow(
      "s.yaml:5:15: must be one of allow, deny, ask: did you mean 'deny'?",
    );
    expect(() => readPolicy(source, ["polcy"])).toThrow("s.yaml:1:1: 'polcy' is missing");
  });

  test("loadPolicyFile reads a policy file, and rejects with a ConfigError if it does not exist", async () => {
    const folder = await mkdtemp(join(tmpdir(), "sandgate-policy-"));
    try {
      const path = join(folder, "policy.yaml");
      await writeFile(path, POLICY);
      expect((await loadPolicyFile(path, TOOLS)).warnings).toEqual([]);
      await expect(loadPolicyFile(join(folder, "none.yaml"))).rejects.toThrow(ConfigError);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  test("the default of a policy file can have limits with units", () => {
    const { policy } = read("rules: []\ndefault: { sandboxes: [remote], limits: { wallTime: 1m } }\n");
    const tool = { ...(TOOLS[1] as PolicyTool), sideEffects: "destructive" as const };
    expect(policy.check(request({}, tool))).toMatchObject({
      decision: "allow",
      grant: { sandbox: "remote", limits: { wallTimeMs: 60_000 } },
    });
  });

  test("all problems of a policy file are reported at once, with their positions, in the file's order", () => {
    expect(
      problemsOf(`rules:
  - name: files
    tools: [read_file]
    effect: allow
    sandboxes: [quickjs, docker]
    limits: { wallTime: 5 s, memry: 1MiB }
    when:
      path: { glob: 1 }
  - tools: [read_fil]
    efect: deny
    effect: deny
    limits: {}
  - name: files
    tools: [read_file]
    effect: allow
    sandboxes: [remote]
    limits: { wallTime: 30d, memory: 64MB, output: -1 }
    when:
      /pth: { prefix: /x }
      /depth: { glob: "(a|b)" }
default: allow
`),
    ).toEqual([
      "p.yaml:5:26: must be one of host, wasm, quickjs, process, microvm, remote",
      "p.yaml:6:30: unknown key 'memry': did you mean 'memory'?",
      "p.yaml:8:7: must be a JSON pointer to an argument, such as '/path' or '/options/depth', or 'principal/...', 'session/...', 'all' or 'any'",
      "p.yaml:8:21: must be a string, not a number",
      "p.yaml:10:5: unknown key 'efect': did you mean 'effect'?",
      "p.yaml:12:5: only a rule with the effect 'allow' or 'ask' can have this",
      "p.yaml:16:16: tool 'read_file' runs only in host, quickjs, which this rule does not list",
      "p.yaml:17:25: must be a duration such as 250ms, 5s or 2m, or a number of milliseconds",
      "p.yaml:17:38: must be a size such as 512KiB, 64MiB or 1GiB, or a number of bytes",
      "p.yaml:17:52: must be a size such as 512KiB, 64MiB or 1GiB, or a number of bytes",
      "p.yaml:19:7: the input of tool 'read_file' has no '/pth': did you mean 'path'?",
      "p.yaml:20:15: a string is required here, and this argument is never one in the input of tool 'read_file'",
      "p.yaml:20:23: '(' is not supported in a glob: write '[(]' to match the character",
      "p.yaml:21:10: must be 'deny', or a map with sandboxes, limits and capabilities",
    ]);
  });

  test("a problem in a policy file is reported with what is expected", () => {
    expect(problemsOf("")).toEqual([
      "p.yaml:1:1: must be a map (keys: rules, untrusted, default, invariants), not null",
    ]);
    expect(problemsOf("rules: none\n")).toEqual(["p.yaml:1:8: must be a list, not a string"]);
    expect(problemsOf("rule: []\n")).toEqual([
      "p.yaml:1:1: 'rules' is missing",
      "p.yaml:1:1: unknown key 'rule': did you mean 'rules'?",
    ]);
    const long =
      "rules: [{ tools: [fetch], effect: allow, sandboxes: [remote], limits: { wallTime: 600h } }]";
    expect(problemsOf(long)).toEqual(["p.yaml:1:83: must be at most 2147483.647s"]);
  });
});

describe("checks against the registered tools", () => {
  test("a pattern that matches no registered tool is a warning, which suggests a similar name", () => {
    expect(problemsOf("rules: [{ tools: [raed_file, 'x*', '*'], effect: deny }]")).toEqual([
      "p.yaml:1:19: warning: 'raed_file' matches no registered tool: did you mean 'read_file'?",
      "p.yaml:1:30: warning: 'x*' matches no registered tool",
    ]);
  });

  test("a source of values, or an untrusted result, of a tool that is not registered is a warning", () => {
    const rule = "tools: [read_file], effect: allow, sandboxes: [host]";
    const when =
      "when: { /path: { from: [user, { tool: raed_file, field: /p }, { lookup: find, field: /p }] } }";
    expect(problemsOf(`untrusted: [{ tool: mail }]\nrules: [{ ${rule}, ${when} }]`)).toEqual([
      "p.yaml:1:21: warning: no tool 'mail' is registered",
      "p.yaml:2:103: warning: no tool 'raed_file' is registered: did you mean 'read_file'?",
      "p.yaml:2:137: warning: no tool 'find' is registered",
    ]);
  });

  test("a source that the policy says outsiders write is an error", () => {
    const rule = "tools: [read_file], effect: allow, sandboxes: [host]";
    const when = "when: { /path: { from: [{ tool: read_file, field: /sender }] } }";
    const untrusted = "untrusted: [{ tool: read_file, fields: [/sender] }]";
    expect(problemsOf(`${untrusted}\nrules: [{ ${rule}, ${when} }]`)).toEqual([
      "p.yaml:2:115: '/sender' in the results of 'read_file' cannot be a source: 'untrusted' says that outsiders write it",
    ]);
  });

  test("side effects that no matching tool has are a warning", () => {
    expect(problemsOf("rules: [{ tools: [read_file], sideEffects: [none], effect: deny }]")).toEqual([
      "p.yaml:1:44: warning: no matching tool has these side effects, only read",
    ]);
  });

  test("a sandbox in which a tool cannot run is an error if a rule names the tool, and a warning for a wildcard", () => {
    expect(problemsOf("rules: [{ tools: ['*'], effect: allow, sandboxes: [wasm, quickjs] }]")).toEqual([
      "p.yaml:1:51: warning: tool 'fetch' runs only in remote, which this rule does not list",
      "p.yaml:1:52: warning: no tool that this rule matches can run in 'wasm'",
    ]);
    expect(problemsOf("rules: [{ tools: [fetch], effect: allow, sandboxes: [wasm] }]")).toEqual([
      "p.yaml:1:53: tool 'fetch' runs only in remote, which this rule does not list",
    ]);
  });

  test("an argument that a closed schema lacks is an error if a rule names the tool, or all matching tools lack it", () => {
    const rule = (tools: string, pointer: string): string =>
      `rules: [{ tools: [${tools}], effect: deny, when: { ${pointer}: { prefix: x } } }]`;
    expect(problemsOf(rule("read_file", "/url"))).toHaveLength(1);
    expect(problemsOf(rule("'read_*'", "/url"))).toHaveLength(1);
    expect(problemsOf(rule("'*'", "/url"))).toEqual([]);
  });

  test("an argument that an open schema does not list is a warning if a rule names the tool", () => {
    const rules = (tool: string): string =>
      `rules: [{ tools: [${tool}], effect: deny, when: { /headers: { prefix: x } } }]`;
    expect(problemsOf(rules("fetch"))).toEqual([
      "p.yaml:1:49: warning: the input of tool 'fetch' has no '/headers'",
    ]);
    expect(problemsOf(rules("'fet*'"))).toEqual([]);
  });

  test("an argument that is similar to one that an open schema lists is a warning", () => {
    expect(problemsOf("rules: [{ tools: [fetch], effect: deny, when: { /ulr: { prefix: x } } }]")).toEqual([
      "p.yaml:1:49: warning: the input of tool 'fetch' has no '/ulr': did you mean 'url'?",
    ]);
  });

  test("a rule is a warning if other rules deny every call of its tools", () => {
    const rules =
      "rules:\n  - { tools: [fetch], effect: ask }\n  - { name: offline, tools: ['*'], effect: deny }\n";
    expect(problemsOf(rules)).toEqual([
      "p.yaml:2:5: warning: this rule has no effect: 'offline' denies every call that it matches",
    ]);
  });

  test("a bad port, CIDR range or clock is reported where it is", () => {
    const rule = (capabilities: string): string =>
      `rules:\n  - tools: [fetch]\n    effect: allow\n    sandboxes: [remote]\n    capabilities:\n      ${capabilities}\n`;
    const net = (addresses: string): string =>
      rule(`net: [{ origin: "https://x.test", addresses: ${addresses} }]`);
    expect(problemsOf(rule('net: ["https://a.test", "https://x.test:99999"]'))).toEqual([
      "p.yaml:6:31: 'https://x.test:99999' must have a port from 1 to 65535",
    ]);
    expect(problemsOf(net('["10.0.0.0/8", "10.0.0.0/33"]'))).toEqual([
      expect.stringMatching(/^p.yaml:6:67: .* must have CIDR ranges .*10.0.0.0\/33/),
    ]);
    expect(problemsOf(rule("frozenClock: 1e300"))).toEqual(["p.yaml:6:20: must be <= 9007199254740991"]);
  });

  test("a rule that has ended is a warning, with its owner", () => {
    expect(problemsOf("rules: [{ tools: [fetch], effect: deny, until: 2001-01-01, owner: team x }]")).toEqual(
      ["p.yaml:1:48: warning: this rule has ended: remove it, or extend it (owner: team x)"],
    );
  });

  test("a rule that asks about calls to which nothing grants anything is a warning", () => {
    const asking = "{ tools: [fetch], effect: ask }";
    expect(problemsOf(`rules: [${asking}]`)).toEqual([
      expect.stringMatching(
        /^p.yaml:1:9: warning: no rule grants anything to the calls that this rule asks about/,
      ),
    ]);
    const granting = "{ tools: [fetch], effect: allow, sandboxes: [remote] }";
    expect(problemsOf(`rules: [${asking}, ${granting}]`)).toEqual([]);
    expect(problemsOf("rules: [{ tools: [fetch], effect: ask, sandboxes: [remote] }]")).toEqual([]);
    expect(problemsOf(`rules: [${asking}]\ndefault: { sandboxes: [remote] }`)).toEqual([]);
  });

  test("nested conditions and elements of lists are checked against the schema", () => {
    const when = (text: string): string => `rules: [{ tools: [read_file], effect: deny, when: ${text} }]`;
    expect(problemsOf(when("{ any: [{ /pth: { equals: a } }] }"))).toEqual([
      expect.stringMatching(/has no '\/pth': did you mean 'path'\?$/),
    ]);
    expect(problemsOf(when("{ /depth: { not: { regex: a } } }"))).toEqual([
      expect.stringMatching(/a string is required here, and this argument is never one/),
    ]);
    expect(problemsOf(when("{ /path/*: { equals: a } }"))).toEqual([
      expect.stringMatching(/has no '\/path\/\*'/),
    ]);
    expect(problemsOf(when("{ principal/id: { equals: a } }"))).toEqual([]);
  });

  test("a tag that no tool has is a warning", () => {
    expect(problemsOf("rules: [{ tags: [files], effect: deny }]")).toEqual([
      "p.yaml:1:18: warning: no registered tool has the tag 'files'",
    ]);
  });

  test("conditions on earlier calls name tools and amounts that exist", () => {
    const history = (condition: string): string =>
      `rules: [{ tools: [read_file], effect: deny, history: [${condition}] }]`;
    expect(problemsOf(history("{ count: [raed_file], in: turn, atLeast: 1 }"))).toEqual([
      "p.yaml:1:65: warning: 'raed_file' matches no registered tool: did you mean 'read_file'?",
    ]);
    expect(problemsOf(history("{ sum: /dept, of: [read_file], in: turn, moreThan: 1 }"))).toEqual([
      expect.stringMatching(/the input of tool 'read_file' has no '\/dept': did you mean 'depth'\?/),
    ]);
    expect(problemsOf(history("{ sum: /path, of: [read_file], in: turn, moreThan: 1 }"))).toEqual([
      expect.stringMatching(/a range requires a number, and this argument is never one/),
    ]);
    expect(problemsOf(history("{ sum: /depth, of: [read_file], in: turn, moreThan: 1 }"))).toEqual([]);
    expect(problemsOf(history("{ sum: /depth, of: [read_file], within: soon, moreThan: 1 }"))).toEqual([
      expect.stringMatching(/must be a duration/),
    ]);
  });

  test("rules are not checked against tools if no tools are given", () => {
    const text =
      "rules: [{ tools: [anything], effect: allow, sandboxes: [wasm], when: { /x: { equals: 1 } } }]";
    expect(readPolicy(ConfigSource.parse(text, "p.yaml"), []).warnings).toEqual([]);
  });
});
