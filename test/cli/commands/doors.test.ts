import { generateKeyPairSync } from "node:crypto";
import { describe, expect, test } from "vitest";
import { createFolder, sandgate } from "../sandgate.ts";

const TOOLS = `tools:
  - { name: deploy, description: d, inputSchema: { type: object }, sideEffects: destructive, quickjs: { source: "export default () => 1" } }
policy: { rules: [{ tools: ["*"], effect: allow, sandboxes: [quickjs] }] }
`;
const CREDENTIALS = `credentials:
    - { id: agent, token: { file: agent.token }, roles: [caller] }
    - { id: ann, token: { file: ann.token }, roles: [approver], approves: [agent] }`;
const { publicKey } = generateKeyPairSync("ed25519", {
  publicKeyEncoding: { type: "spki", format: "pem" },
  privateKeyEncoding: { type: "pkcs8", format: "pem" },
});

/** Checks a config with a server, or has `doctor` report it. */
async function of(command: "check" | "doctor", server: string, ...options: readonly string[]) {
  const folder = await createFolder({
    "sandgate.yaml": `${TOOLS}server:\n  ${server}\n`,
    "agent.token": "the-token-of-the-agent\n",
    "ann.token": "the-token-of-ann-the-person\n",
    "a.pem": publicKey,
  });
  return sandgate([command, "--config", `${folder}/sandgate.yaml`, ...options]);
}

describe("a config with sessions", () => {
  const MIGRATION =
    /is for clients of the executor.*write 'credentials: \[\{ id: agent, .*roles: \[caller\] \}\]'.* or 'executor: true'/;

  test.each([
    [
      "a token of the executor",
      `sessions: true\n  token: { file: agent.token }\n  ${CREDENTIALS.replace("agent.token", "a.pem")}`,
      MIGRATION,
    ],
    ["keys of the executor", `sessions: true\n  keys: { agent: a.pem }\n  ${CREDENTIALS}`, MIGRATION],
    ["no credential", "sessions: true", MIGRATION],
    ["no credential, on a socket", "sessions: true\n  listen: unix:socket", MIGRATION],
    ["no credential, with MCP", "sessions: true\n  mcp: {}", MIGRATION],
    [
      "a client of the executor",
      `sessions: true\n  ${CREDENTIALS.replace("[caller]", "[client]")}`,
      /the role 'client' is for clients of the executor/,
    ],
    ["frames", `sessions: true\n  frames: true\n  ${CREDENTIALS}`, /frames are connections of the executor/],
    [
      "a caller who approves",
      `sessions: true\n  ${CREDENTIALS.replace("[caller]", "[caller, approver]")}`,
      /a caller must not be an approver/,
    ],
    [
      "a client who calls",
      `executor: true\n  sessions: true\n  ${CREDENTIALS.replace("[caller]", "[client, caller]")}`,
      /a client must not be a caller/,
    ],
    [
      "one key for two roles",
      "sessions: true\n  credentials:\n    - { id: agent, key: a.pem, roles: [caller] }\n    - { id: ann, key: a.pem, roles: [approver], approves: [agent] }",
      /has the same key as 'agent'/,
    ],
  ])("is refused with %s, and told what to write", async (_what, server, text) => {
    const { code, stderr } = await of("check", server);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(text) });
  });

  test("is accepted with both doors, if it says so", async () => {
    const clients = `${CREDENTIALS}\n    - { id: jobs, key: a.pem, roles: [client] }`;
    expect(await of("check", `sessions: true\n  executor: true\n  frames: true\n  ${clients}`)).toMatchObject(
      {
        code: 0,
        stderr: "",
      },
    );
  });
});

test("a server without sessions is an executor, which cannot be switched off", async () => {
  expect(await of("check", "token: { file: agent.token }")).toMatchObject({ code: 0 });
  expect((await of("check", "executor: false")).stderr).toMatch(/without sessions is an executor/);
});

describe.each(["check", "doctor"] as const)("sandgate %s", (command) => {
  const clients = `${CREDENTIALS}\n    - { id: bob, token: { env: NOT_SET }, roles: [caller] }`;

  test("names who can answer whom", async () => {
    const { stdout } = await of(
      command,
      `sessions: true\n  executor: true\n  keys: { jobs: a.pem }\n  ${clients}`,
    );
    expect(stdout).toContain(`who answers for whom:
  agent, in sessions: ann
  bob, in sessions: no approver: calls that need an answer time out
  jobs, at the executor: no person is asked
`);
  });

  test("names the clients of MCP that can answer for themselves, and those whose calls no approver can confirm", async () => {
    const asked = await of(command, `sessions: true\n  mcp: { confirm: elicitation }\n  ${CREDENTIALS}`);
    expect(asked.stdout).toContain("agent, over MCP: ann, its own client, which can answer without a person");
    const none = await of(command, `sessions: true\n  mcp: {}\n  ${CREDENTIALS}`);
    expect(none.stdout).toContain(
      "agent, over MCP: no approver: calls that need an answer are denied at once",
    );
    const page = await of(
      command,
      `sessions: true\n  mcp: { approvalUrl: "https://a.example" }\n  ${CREDENTIALS}`,
    );
    expect(page.stdout).toContain("agent, over MCP: ann\n");
    expect((await of(command, "mcp: { confirm: elicitation }")).stdout).toContain(
      "local, over MCP: its own client",
    );
  });
});

test("sandgate check warns of a person with the id of the agent for which they answer", async () => {
  const { code, stderr } = await of(
    "check",
    `sessions: true\n  ${CREDENTIALS.replace("id: ann", "id: agent")}`,
  );
  expect(code).toBe(0);
  expect(stderr).toContain("warning: an approver has the id 'agent' of a caller for which it answers");
});
