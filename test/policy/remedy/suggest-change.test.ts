import { describe, expect, test } from "vitest";
import { ConfigSource } from "../../../src/config/source.ts";
import type { JsonObject, JsonValue } from "../../../src/json/value.ts";
import { loadPolicyText } from "../../../src/policy/file/load.ts";
import type { PolicyRequest, PolicySubject, RuntimePolicy } from "../../../src/policy/policy.ts";
import {
  type PolicySuggestion,
  type SuggestedChange,
  suggestChange,
} from "../../../src/policy/remedy/suggest-change.ts";
import { RulePolicy } from "../../../src/policy/rule/rule-policy.ts";
import { strictest } from "../../../src/policy/strictest.ts";

const TEXTS: JsonObject = {
  type: "object",
  properties: { path: { type: "string" }, content: { type: "string" }, amount: { type: "number" } },
};

function tool(name: string, sandboxes: PolicySubject["sandboxes"] = ["quickjs"]): PolicySubject {
  return { name, sideEffects: "write", sandboxes, inputSchema: TEXTS };
}

const READ = tool("read_file");
const WRITE = tool("write_file");
const TOOLS = [READ, WRITE, tool("add", ["host"])];

function request(
  subject: PolicySubject,
  input: JsonValue,
  others: Partial<PolicyRequest> = {},
): PolicyRequest {
  return { callId: "c1", sessionId: "s1", tool: subject, input, ...others } as PolicyRequest;
}

function policyOf(text: string): Promise<RuntimePolicy> {
  return loadPolicyText(text, "/etc/sandgate/policy.yaml", TOOLS).then(({ policy }) => policy);
}

function found(suggestion: PolicySuggestion): SuggestedChange {
  if ("withheld" in suggestion) throw new Error(suggestion.withheld);
  return suggestion;
}

/** Copies a suggestion into a policy file, as its reader would. */
function applied(text: string, { changes }: SuggestedChange): Promise<RuntimePolicy> {
  const policy = structuredClone(ConfigSource.parse(text, "policy.yaml").value) as {
    rules: { name?: string }[];
  };
  for (const { kind, rule, yaml } of changes) {
    const [item] = ConfigSource.parse(yaml, "item.yaml").value as { name?: string }[];
    if (item === undefined) throw new Error(yaml);
    const at = policy.rules.findIndex(({ name }, index) => (name ?? `rule ${index + 1}`) === rule);
    if (kind === "add") policy.rules.push(item);
    else policy.rules[at] = item;
  }
  return policyOf(JSON.stringify(policy));
}

const DELETE_DENIED = `
rules:
  - tools: ["*_file"]
    effect: allow
    sandboxes: [quickjs]
  - name: no secrets
    tools: ["*_file"]
    when:
      /path: { glob: "secret/**" }
    effect: deny
`;

describe("a suggestion", () => {
  test("excepts exactly the denied call of its caller from the rule that denies it", async () => {
    const policy = await policyOf(DELETE_DENIED);
    const denied = request(READ, { path: "secret/a" }, { principal: { id: "ann", kind: "user" } });
    const suggestion = found(await suggestChange(policy, denied, { tools: TOOLS }));
    expect(suggestion).toMatchObject({
      decision: "allow",
      changes: [{ kind: "replace", rule: "no secrets", file: "/etc/sandgate/policy.yaml", line: 6 }],
    });
    expect(suggestion.yaml).toBe(
      `# In place of the rule "no secrets" of "policy.yaml", line 6
- name: "no secrets"
  tools: ["*_file"]
  when:
    /path: { glob: "secret/**" }
    any: [{ "": { not: { equals: { path: secret/a } } } }, { principal/id: { not: { equals: ann } } }]
  effect: deny
`,
    );
    const changed = await applied(DELETE_DENIED, suggestion);
    expect(changed.check(denied)).toMatchObject({ decision: "allow" });
    for (const other of [
      request(READ, { path: "secret/b" }, { principal: { id: "ann", kind: "user" } }),
      request(READ, { path: "secret/a" }, { principal: { id: "bob", kind: "user" } }),
      request(READ, { path: "secret/a" }),
      request(READ, { path: "secret/a", content: "" }, { principal: { id: "ann", kind: "user" } }),
    ])
      expect(changed.check(other)).toMatchObject({ decision: "deny" });
  });

  test("says which other calls the change permits", async () => {
    const policy = await policyOf(DELETE_DENIED);
    const denied = request(READ, { path: "secret/a" });
    const { widens } = found(await suggestChange(policy, denied, { tools: TOOLS }));
    expect(widens).toEqual([
      "the same call in other sessions",
      "calls of 'write_file' with the same arguments",
    ]);
  });

  test("widens the rule that came near, and then offers exactly this call", async () => {
    const text = `
rules:
  - name: mail to the team
    tools: [send_mail]
    when:
      /to: { glob: "*@team.example" }
      /body: { regex: "^Hello" }
    effect: ask
    sandboxes: [quickjs]
`;
    const mail = tool("send_mail");
    const policy = (await loadPolicyText(text, "/etc/sandgate/policy.yaml", [mail])).policy;
    const denied = request(mail, { to: "ann@example.com", body: "Hello" });
    const suggestion = found(await suggestChange(policy, denied, { tools: [mail] }));
    expect(suggestion).toMatchObject({
      decision: "ask",
      text: "The rule 'mail to the team' nearly allows the call: accept its /to, too.",
      yaml: expect.stringContaining('/to: { glob: ["*@team.example", "ann@example.com"] }'),
      changes: [{ kind: "replace", rule: "mail to the team" }],
      widens: expect.arrayContaining(["calls with another argument 'body'"]),
      exactly: { changes: [{ kind: "add", rule: "one call of send_mail" }] },
    });
  });

  test.each([
    ["{ equals: 1 }", 3, "{ oneOf: [1, 3] }"],
    ["{ oneOf: [1, 2] }", 3, "{ oneOf: [1, 2, 3] }"],
    ["{ range: { min: 1, max: 2 } }", 3, "{ range: { max: 3, min: 1 } }"],
    ["{ range: { min: 1 } }", 0, "{ range: { min: 0 } }"],
    ['{ glob: "src/**" }', "do*cs", '{ any: [{ glob: "src/**" }, { equals: "do*cs" }] }'],
    ["{ prefix: src }", "docs", "{ any: [{ prefix: src }, { equals: docs }] }"],
  ])("widens %s to accept %j", async (condition, value, wider) => {
    const add = tool("add");
    const text = `{ rules: [{ tools: [add], when: { /value: ${condition} }, effect: allow, sandboxes: [quickjs] }] }`;
    const { policy } = await loadPolicyText(text, "/etc/sandgate/policy.yaml", [add]);
    const { yaml } = found(await suggestChange(policy, request(add, { value }), { tools: [add] }));
    expect(yaml).toContain(`/value: ${wider}`);
  });

  test("widens no rule for a secret-like long value, another caller, or against its examples", async () => {
    const text = (more: string): string =>
      `{ rules: [{ name: near, tools: [read_file], ${more}, effect: allow, sandboxes: [quickjs] }] }`;
    const ann = { principal: { id: "ann", kind: "user" } } as const;
    for (const [more, input] of [
      ["when: { /path: { prefix: src } }", { path: "x".repeat(300) }],
      ["when: { principal/id: { equals: bob } }", { path: "a" }],
      [
        "when: { /path: { prefix: src } }, examples: { noMatch: [{ arguments: { path: a } }] }",
        { path: "a" },
      ],
    ] as const) {
      const policy = await policyOf(text(more));
      const suggestion = found(await suggestChange(policy, request(READ, input, ann), { tools: TOOLS }));
      expect(suggestion).toMatchObject({ changes: [{ kind: "add" }] });
      expect(suggestion).not.toHaveProperty("exactly");
    }
  });

  test("adds a rule for exactly a call that no rule allows, with the grant of the rule that came near", async () => {
    const text = `
rules:
  - name: sources
    tools: [read_file]
    when:
      /path: { glob: "src/**" }
    effect: allow
    sandboxes: [quickjs]
    limits: { wallTime: 1500ms, memory: 64MiB }
    capabilities: { fs: [{ directory: ../../srv/code, at: / }] }
`;
    const denied = request(READ, { path: "docs/a.md" });
    const { exactly: suggestion } = found(
      await suggestChange(await policyOf(text), denied, { tools: TOOLS }),
    );
    if (suggestion === undefined) throw new Error("there is no change for exactly this call");
    expect(suggestion.yaml).toBe(
      `# After the last rule of "policy.yaml", line 3
- name: "one call of read_file"
  tools: [read_file]
  when:
    "": { equals: { path: docs/a.md } }
  effect: allow
  sandboxes: [quickjs]
  limits: { memory: "64MiB", wallTime: "1.5s" }
  capabilities: { fs: [{ at: /, directory: ../../srv/code }] }
`,
    );
    const changed = await applied(text, suggestion);
    expect(changed.check(denied)).toMatchObject({
      decision: "allow",
      grant: { capabilities: { fs: [{ directory: "/srv/code" }] } },
    });
    expect(changed.check(request(READ, { path: "docs/b.md" }))).toMatchObject({ decision: "deny" });
  });

  test("takes every obstacle out of the way, one after the other", async () => {
    const text = `
rules:
  - { name: one, tools: [write_file], effect: deny }
  - { tools: ["*"], effect: deny, when: { /path: { prefix: a } } }
`;
    const denied = request(WRITE, { path: "a" });
    const suggestion = found(await suggestChange(await policyOf(text), denied, { tools: TOOLS }));
    expect(suggestion.changes.map(({ kind, rule }) => [kind, rule])).toEqual([
      ["replace", "one"],
      ["replace", "rule 2"],
      ["add", "one call of write_file"],
    ]);
    expect((await applied(text, suggestion)).check(denied)).toMatchObject({ decision: "allow" });
  });

  test("adds a sandbox in which the tool runs, if the rules accept none", async () => {
    const text = `rules: [{ name: all, tools: ["*"], effect: allow, sandboxes: [wasm] }]`;
    const denied = request(WRITE, {});
    const suggestion = found(await suggestChange(await policyOf(text), denied, { tools: TOOLS }));
    expect(suggestion.yaml).toContain("sandboxes: [wasm, quickjs]");
    expect(suggestion.widens).toContain("calls with more arguments");
  });

  test("leaves it to a person to confirm what has to be confirmed", async () => {
    const text = `rules: [{ tools: ["*"], effect: ask }]`;
    const suggestion = found(await suggestChange(await policyOf(text), request(WRITE, {}), { tools: TOOLS }));
    expect(suggestion).toMatchObject({ decision: "ask", changes: [{ kind: "add" }] });
  });

  test("grants a tool the host only if it runs nowhere else", async () => {
    const text = `rules: [{ tools: [read_file], effect: deny }]`;
    const policy = await policyOf(text);
    const both = tool("both", ["host", "quickjs"]);
    const tools = [...TOOLS, both];
    const confined = found(await suggestChange(policy, request(both, {}), { tools }));
    expect(confined.yaml).toContain("sandboxes: [quickjs]");
    const trusted = found(await suggestChange(policy, request(TOOLS[2] as PolicySubject, {}), { tools }));
    expect(trusted.yaml).toContain("sandboxes: [host]");
  });

  test("raises a quota to the least that is enough", async () => {
    const text = `
rules:
  - name: few
    tools: [write_file]
    effect: allow
    sandboxes: [quickjs]
    history: [{ count: [write_file], in: session, lessThan: 2 }]
`;
    const ledger = { tally: () => ({ count: 5, sum: 0n, isComplete: true }) };
    const denied = request(WRITE, { path: "a" }, { history: { ledger } });
    const suggestion = found(await suggestChange(await policyOf(text), denied, { tools: TOOLS }));
    expect(suggestion.changes).toMatchObject([{ kind: "replace", rule: "few", line: 3 }]);
    expect(suggestion.yaml).toContain("lessThan: 6");
  });

  test("changes only the joined policy that denies the call", async () => {
    const org = new RulePolicy({ rules: [{ tools: ["*"], effect: "allow", sandboxes: ["quickjs"] }] });
    const team = await policyOf(DELETE_DENIED);
    const denied = request(READ, { path: "secret/a" });
    const suggestion = found(await suggestChange(strictest(org, team), denied, { tools: TOOLS }));
    expect(suggestion.changes).toMatchObject([{ rule: "no secrets", line: 6 }]);
  });

  test("writes what cannot be seen, and what looks like something else, as escapes", async () => {
    const policy = await policyOf("rules: []");
    const path = "a\u202eb\u0430\u{1f600}\nno: [yaml";
    const denied = request(READ, { path });
    const suggestion = found(await suggestChange(policy, denied, { tools: TOOLS }));
    expect(suggestion.yaml).toMatch(/^[\n -~]*$/);
    expect((await applied("rules: []", suggestion)).check(denied)).toMatchObject({ decision: "allow" });
  });

  test("leaves long arguments out of a new rule, and says so", async () => {
    const denied = request(WRITE, { path: "a", content: "x".repeat(5_000) });
    const { yaml, widens } = found(
      await suggestChange(await policyOf("rules: []"), denied, { tools: TOOLS }),
    );
    expect(yaml).not.toContain("xxx");
    expect(yaml).toContain("/path: { equals: a }");
    expect(widens).toContain("any value of /content, which is too long to be part of the rule");
  });
});

describe("no change is suggested", () => {
  const withheld = async (policy: RuntimePolicy, call: PolicyRequest): Promise<string> => {
    const suggestion = await suggestChange(policy, call, { tools: TOOLS });
    return "withheld" in suggestion ? suggestion.withheld : suggestion.yaml;
  };

  test("if the changed policy would break an invariant", async () => {
    const policy = await policyOf(
      "rules: []\ninvariants: [{ name: no writing, never: { tools: [write_file] } }]",
    );
    expect(await withheld(policy, request(WRITE, {}))).toMatch(/not valid: .*no writing/);
  });

  test("if the policy is in code, or does not deny the call", async () => {
    const inCode: RuntimePolicy = { check: () => ({ decision: "deny", reason: "no" }) };
    expect(await withheld(inCode, request(READ, {}))).toMatch(/in code/);
    const open = new RulePolicy({ rules: [{ tools: ["*"], effect: "allow", sandboxes: ["quickjs"] }] });
    expect(await withheld(open, request(READ, {}))).toMatch(/does not deny/);
  });

  test("if the grant depends on what the call does not have", async () => {
    const text = `rules: [{ tools: [read_file], effect: allow, sandboxes: [quickjs], capabilities: { fs: [{ workspace: true }] } }]`;
    expect(await withheld(await policyOf(text), request(READ, {}))).toMatch(/no small change/);
  });

  test("if the arguments are too long to be part of a rule", async () => {
    const policy = await policyOf("rules: []");
    expect(await withheld(policy, request(WRITE, { content: "x".repeat(5_000) }))).toMatch(/too long/);
  });
});
