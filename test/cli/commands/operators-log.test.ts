import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createFolder, entriesOf, PROJECT, sandgate } from "../sandgate.ts";

const HOST_TOOLS = `
export const add = ({ a, b }) => a + b;
export const wait = () => {};
export const broken = () => {
  throw new Error("connection refused by db-7.internal", { cause: new Error("certificate expired") });
};
`;

const MORE_TOOLS = `
  - name: guest
    description: Logs and throws
    inputSchema: { type: object }
    quickjs: { source: "export default (_, { log }) => { log.warn('disk is \\\\u001b[31mfull'); throw new Error('oops') }" }
  - name: api
    description: Calls an API
    inputSchema: { type: object }
    remote: { http: { url: "https://api.example.com/x" } }
`;

const RULES = `
  - { name: everything else, tools: [guest], effect: allow, sandboxes: [quickjs] }
  - { name: no network, tools: [api], effect: allow, sandboxes: [remote] }
`;

/** Dispatches a call with `--events`, and returns the entries of the log and the model's text. */
async function logOf(
  name: string,
  args: unknown = {},
  { more = "log: { level: debug }\n", rules = "" } = {},
): Promise<{ readonly entries: Record<string, unknown>[]; readonly message: string }> {
  const folder = await createFolder({
    ...PROJECT,
    "sandgate.yaml": `${PROJECT["sandgate.yaml"]?.replace("policy: policy.yaml", `${MORE_TOOLS}policy: policy.yaml`)}${more}`,
    "policy.yaml": `${PROJECT["policy.yaml"]}${RULES}${rules}`,
    "tools/host.mjs": HOST_TOOLS,
  });
  const argv = ["dispatch", "--config", join(folder, "sandgate.yaml"), "--output", "json", "--events"];
  const stdin = JSON.stringify([{ id: "c1", name, arguments: args }]);
  const { stdout, stderr } = await sandgate(argv, { stdin });
  return { entries: entriesOf(stderr), message: JSON.parse(stdout).executions[0].error?.message ?? "" };
}

describe("What the model must not read is in the operator's log:", () => {
  test("the stack of an error that the model reads as a reference", async () => {
    const more = "unhandledErrors: redacted\n";
    const { entries, message } = await logOf("broken", {}, { more });
    const [, reference] = /^Tool failed \(reference ([0-9a-f]{6})\)$/.exec(message) ?? [];
    expect(entries.filter((entry) => entry["reference"] === reference)).toMatchObject([
      {
        level: "error",
        event: "tool.failed",
        tool: "broken",
        call: "c1",
        detail: expect.stringMatching(
          /^Error: connection refused by db-7\.internal\n {4}at [\s\S]*\nCaused by: Error: certificate expired\n {4}at /,
        ),
      },
    ]);
  });

  test("the stack of an error whose message the model reads", async () => {
    const { entries, message } = await logOf("guest");
    expect(message).toBe("oops");
    expect(entries).toContainEqual(
      expect.objectContaining({ event: "tool.failed", detail: expect.stringMatching(/oops\n {4}at /) }),
    );
  });

  test("the lines that a guest logs, escaped", async () => {
    const { entries } = await logOf("guest");
    expect(entries).toContainEqual(
      expect.objectContaining({ level: "warn", event: "tool.log", message: "disk is \u001b[31mfull" }),
    );
  });

  test("the rule that denies a call", async () => {
    const { entries, message } = await logOf("forbidden");
    expect(message).not.toMatch(/rule|denied'/);
    expect(entries).toContainEqual(
      expect.objectContaining({ event: "tool.failed", code: "permission_denied", rules: ["denied"] }),
    );
    expect(entries).toContainEqual(
      expect.objectContaining({
        level: "warn",
        event: "tool.decided",
        decision: "deny",
        rules: ["denied"],
        reason: expect.stringContaining("denied"),
        policyRevision: expect.stringMatching(/^[0-9a-f]{64}$/),
        durationMs: expect.any(Number),
      }),
    );
  });

  test("the rules that came near, and what they missed", async () => {
    const rules =
      "  - { name: in the morning, tools: [late], when: { /hour: { range: { max: 12 } } }, effect: allow, sandboxes: [host] }\n";
    const late = `
  - { name: late, description: "", inputSchema: { properties: { hour: { type: number } } }, host: { module: tools/host.mjs, export: wait } }
`;
    const folder = await createFolder({
      ...PROJECT,
      "sandgate.yaml": `${PROJECT["sandgate.yaml"]?.replace("policy: policy.yaml", `${late}policy: policy.yaml`)}`,
      "policy.yaml": `${PROJECT["policy.yaml"]}${rules}`,
    });
    const argv = ["dispatch", "--config", join(folder, "sandgate.yaml"), "--events"];
    const stdin = '[{"id":"c1","name":"late","arguments":{"hour":13}}]';
    const { stdout } = await sandgate([...argv, "--output", "messages"], { stdin });
    expect(stdout).toContain("disabled by policy");
    expect(stdout).not.toContain("in the morning");
    const { stderr } = await sandgate(argv, { stdin });
    expect(entriesOf(stderr)).toMatchObject([
      {
        event: "tool.decided",
        decision: "deny",
        near: [expect.stringMatching(/^'in the morning' but for ./)],
      },
      { event: "tool.failed", detail: expect.stringContaining("'in the morning' would allow it but for") },
    ]);
  });

  test("what to grant to an HTTP tool that lacks its origin", async () => {
    const { entries, message } = await logOf("api");
    expect(message).toMatch(/^Permission denied/);
    expect(entries).toContainEqual(
      expect.objectContaining({
        event: "tool.failed",
        detail: expect.stringContaining("https://api.example.com"),
      }),
    );
  });

  test("everything that is wrong with the arguments", async () => {
    const { entries } = await logOf("add", { a: "1" });
    expect(entries).toContainEqual(
      expect.objectContaining({
        event: "tool.failed",
        code: "validation_error",
        problems: ["must have required property 'b'", "/a must be number"],
      }),
    );
  });

  test("why a sandbox is not available", async () => {
    const rules =
      "  - { name: elsewhere, tools: [wait], effect: allow, sandboxes: [host], capabilities: { env: [HOME] } }\n";
    const policy = PROJECT["policy.yaml"]?.replace("wait, ", "") ?? "";
    const folder = await createFolder({ ...PROJECT, "policy.yaml": policy + rules });
    const argv = ["dispatch", "--config", join(folder, "sandgate.yaml"), "--events"];
    const { stderr } = await sandgate(argv, { stdin: '[{"id":"c1","name":"wait","arguments":{}}]' });
    expect(entriesOf(stderr)).toContainEqual(
      expect.objectContaining({
        level: "error",
        code: "sandbox_unavailable",
        detail: "the sandbox does not support the capability 'env'",
      }),
    );
  });
});

describe("sandgate dispatch --events", () => {
  test("writes what a call was given at the level debug, without secrets", async () => {
    const { entries } = await logOf("add", { a: 1, b: 2, secret: { x: 7 } });
    expect(entries.map(({ event }) => event)).toEqual(["tool.decided", "tool.started", "tool.completed"]);
    expect(entries[0]).toMatchObject({ level: "info", decision: "allow", rules: ["on the host"] });
    expect(entries[1]).toMatchObject({
      level: "debug",
      tool: "add",
      sandbox: "host",
      rules: ["on the host"],
      sideEffects: "none",
      arguments: '{"a":1,"b":2,"secret":{"x":"[redacted: secret]"}}',
      argumentDigest: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    expect(entries[2]).toMatchObject({ level: "info", sandbox: "host", durationMs: expect.any(Number) });
  });

  test("writes lines for people to a terminal", async () => {
    const folder = await createFolder(PROJECT);
    const argv = ["dispatch", "--config", join(folder, "sandgate.yaml"), "--events"];
    const stdin = JSON.stringify([{ id: "c1", name: "forbidden", arguments: {} }]);
    const { stderr } = await sandgate(argv, { stdin, isTTY: true });
    expect(stderr).toMatch(
      /\n\S+Z warn {2}tool\.failed tool=forbidden call=c1 session=\S+ code=permission_denied message="Permission denied: .*" detail="'denied' denies this call" .*rules=\["denied"\]\n$/,
    );
  });

  test("follows the format and the level of the config", async () => {
    const { entries } = await logOf("add", { a: 1, b: 2 }, { more: "log: { level: warn }\n" });
    expect(entries).toEqual([]);
    const folder = await createFolder({
      ...PROJECT,
      "sandgate.yaml": `${PROJECT["sandgate.yaml"]}log: { format: text }\n`,
    });
    const argv = ["dispatch", "--config", join(folder, "sandgate.yaml"), "--events"];
    const stdin = JSON.stringify([{ id: "c1", name: "add", arguments: { a: 1, b: 2 } }]);
    expect((await sandgate(argv, { stdin })).stderr).toMatch(
      /^\S+Z info {2}tool\.decided tool=add .*\n\S+Z info {2}tool\.completed tool=add .*\n$/,
    );
  });

  test("writes nothing without the option", async () => {
    const folder = await createFolder(PROJECT);
    const argv = ["dispatch", "--config", join(folder, "sandgate.yaml")];
    const stdin = JSON.stringify([{ id: "c1", name: "forbidden", arguments: {} }]);
    expect((await sandgate(argv, { stdin })).stderr).toBe("");
  });
});
