import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { Authority } from "../../../certificates.ts";
import { createFolder, sandgate } from "../../sandgate.ts";

/** Returns what `sandgate check` finds in a config. */
async function check(config: string): Promise<{ readonly code: number; readonly stderr: string }> {
  const files = {
    "sandgate.yaml": config,
    "fn.mjs": "export default () => 1;",
    "agent.token": "a".repeat(20),
    "ann.token": "b".repeat(20),
  };
  const folder = await createFolder(files);
  const { code, stderr } = await sandgate(["check", "--config", join(folder, "sandgate.yaml")]);
  return { code, stderr };
}

const TOOLS = `tools:
  - name: list
    description: Lists
    inputSchema: { type: object }
    sideEffects: execute
    process: { command: ls, input: none, output: text }
  - name: upper
    description: Writes in capitals
    inputSchema: { type: object }
    sideEffects: none
    quickjs: { source: "export default () => 1" }
`;

const ALLOW_UPPER = "policy: { rules: [{ tools: [upper], effect: allow, sandboxes: [quickjs] }] }\n";

function granted(capabilities: string, tool: "list" | "upper" = "list"): string {
  const sandbox = tool === "list" ? "process" : "quickjs";
  return `${TOOLS}policy:
  rules:
    - { tools: [${tool}], effect: allow, sandboxes: [${sandbox}], capabilities: ${capabilities} }
`;
}

describe("sandgate check names grants of origins that no request can use", () => {
  test.each([
    '{ origin: "http://127.0.0.1:8080", addresses: [127.0.0.1/32] }',
    "http://localhost:8080",
    '"http://[::1]:8080"',
    "http://app.localhost",
    // Other spellings of 127.0.0.1.
    "http://127.1",
    '"http://0x7f000001"',
  ])("of a program's own loopback: %s", async (net) => {
    const { code, stderr } = await check(granted(`{ net: [${net}] }`));
    expect(stderr).toMatch(/warning: '.*' is the program itself.*write an address of this machine/);
    expect(code).toBe(0);
  });

  test.each([
    ["list", "http://127.0.0.2:8080", /write \{ origin: .*addresses: \["127\.0\.0\.2\/32"\] \}/],
    ["list", "http://0.0.0.0:8080", /is not a public address/],
    ["upper", "http://localhost:8080", /addresses: \["127\.0\.0\.1\/32", "::1\/128"\]/],
    ["upper", "http://10.0.0.1", /is not a public address/],
    ["upper", '{ origin: "http://10.0.0.1", addresses: [10.1.0.0/16] }', /is not a public address/],
    ["upper", '"http://[0:0:0:0:0:0:0:1]"', /write 'http:\/\/\[::1\]'/],
    ["upper", "http://256.1.1.1", /its host is not valid/],
  ] as const)("for %s: %s", async (tool, net, message) => {
    expect((await check(granted(`{ net: [${net}] }`, tool))).stderr).toMatch(message);
  });

  test.each([
    ["list", "https://api.example.com"],
    ["list", '{ origin: "http://127.0.0.2:8080", addresses: [127.0.0.0/8] }'],
    ["upper", '{ origin: "http://localhost:8080", addresses: [127.0.0.1/32] }'],
    ["upper", '"https://*.example.com"'],
    ["upper", "http://8.8.8.8"],
  ] as const)("and says nothing of those that can be used, for %s: %s", async (tool, net) => {
    expect((await check(granted(`{ net: [${net}] }`, tool))).stderr).toBe("");
  });
});

describe("sandgate check names files that a program cannot see where it looks for them", () => {
  test.each([
    [
      "{ file: /etc/hostname, at: /etc/hostname }",
      2,
      /write another place, such as 'at: \/granted\/hostname'/,
    ],
    ["{ workspace: true, at: /proc/work }", 2, /\/proc has files of the sandbox/],
    ["{ file: /etc/hostname }", 0, /sees this at '\/hostname', and not at '\/etc\/hostname'/],
    ["{ directory: /etc }", 0, /sees this at '\/workspace', and not at '\/etc'/],
    ["{ directory: /sys/class }", 0, /and not at '\/sys\/class'/],
    ["{ directory: /usr/share }", 0, /programs see \/usr without a grant/],
  ] as const)("%s", async (fs, code, message) => {
    const found = await check(granted(`{ fs: [${fs}] }`));
    expect(found.stderr).toMatch(message);
    expect(found.code).toBe(code);
  });

  test.each([
    "{ file: /etc/hostname, at: /granted/hostname }",
    "{ directory: /opt }",
  ])("and says nothing of %s", async (fs) => {
    expect((await check(granted(`{ fs: [${fs}] }`))).stderr).toBe("");
  });
});

const SERVER = `server:
  sessions: true
  credentials: [{ id: agent, token: { file: agent.token }, roles: [caller] }]
`;
const APPROVED = SERVER.replace(
  "roles: [caller] }]",
  "roles: [caller] }, { id: ann, token: { file: ann.token }, roles: [approver], approves: [agent] }]",
);
const LIST = "policy: { rules: [{ tools: [list], effect: allow, sandboxes: [process] }] }\n";

describe("sandgate check names tools whose calls are always denied, as no one can be asked", () => {
  test.each([
    ["a class that asks", SERVER + LIST],
    ["a rule that asks", SERVER + LIST.replace("allow", "ask")],
    ["a level", `${SERVER}${ALLOW_UPPER}confirmations: { tools: { upper: prompt } }\n`],
    ["a mode", `${SERVER}${ALLOW_UPPER}confirmations: { mode: manual }\n`],
    ["clients of MCP", `server: { mcp: {} }\n${LIST}`],
  ])("by %s", async (_, config) => {
    const { code, stderr } = await check(TOOLS + config);
    expect(stderr).toMatch(/every client is denied calls of '(list|upper)'.*no one can answer: write /);
    expect(code).toBe(0);
  });

  test("in a line that is shown whole, however long the names are", async () => {
    const tools = Array.from(
      { length: 9 },
      (_, at) =>
        TOOLS.slice("tools:\n".length)
          .replace("name: list", `name: ${"list_".repeat(12)}${at}`)
          .split("  - name: upper")[0],
    );
    const config = `tools:\n${tools.join("")}server: { mcp: {} }\n${LIST.replace("[list]", '["list_*"]')}`;
    const { stderr } = await check(config);
    expect(stderr).toMatch(
      /denied calls of 'list_.*0' and 8 more, as a person must be asked .* to ask a person$/m,
    );
  });

  test.each([
    ["an approver", APPROVED + LIST],
    ["a client that answers", `server: { mcp: { confirm: elicitation } }\n${LIST}`],
    ["a level that asks no one", `${SERVER}${LIST}confirmations: { tools: { list: auto } }\n`],
    ["a mode that asks no one", `${SERVER}${LIST}confirmations: { mode: autonomous }\n`],
    ["a class that asks no one", SERVER + ALLOW_UPPER],
    ["an executor, which asks no one", `server: { token: { file: agent.token } }\n${LIST}`],
    ["no server", LIST],
  ])("and says nothing with %s", async (_, config) => {
    expect((await check(TOOLS + config)).stderr).toBe("");
  });
});

describe("sandgate check names rules that no caller of the server meets", () => {
  const OAUTH =
    "  mcp: { oauth: { resource: https://a.example/mcp, issuer: https://b.example, principal: { attributes: { team: /team } } } }\n";
  test.each([
    ["roles: [admin]", /callers of the server have no roles/],
    ["principals: [bob]", /no key or token of the server has the id 'bob'/],
    ["when: { principal/kind: { equals: user } }", /"user" is not/],
    ["when: { principal/id: { equals: bob } }", /"bob" is not/],
    ["when: { principal/attributes/team: { equals: a } }", /nothing gives a caller 'attributes\/team'/],
  ])("%s", async (match, message) => {
    const rule = `policy: { rules: [{ tools: [upper], effect: deny, ${match} }] }\n`;
    expect((await check(TOOLS + SERVER + rule)).stderr).toMatch(message);
  });

  test.each([
    ["roles: [admin]", /only give roles that begin with 'scope:'/],
    ["when: { principal/attributes/tem: { equals: a } }", /nothing gives a caller 'attributes\/tem'/],
    ["roles: ['scope:tools']", /^$/],
    ["principals: ['oauth:*']", /^$/],
    ["principals: [agent]", /^$/],
    ["when: { principal/attributes/team: { equals: a } }", /^$/],
    ["when: { principal/kind: { equals: user } }", /^$/],
  ])("with access tokens, %s", async (match, message) => {
    const rule = `policy: { rules: [{ tools: [upper], effect: deny, ${match} }] }\n`;
    expect((await check(TOOLS + SERVER + OAUTH + rule)).stderr).toMatch(message);
  });
});

describe("sandgate check names entries that have no effect", () => {
  test.each([
    [
      "confirmations: { tools: { uper: auto } }",
      /:13:27: .*no tool 'uper' is registered: did you mean 'upper'/,
    ],
    ["confirmations: { modes: { m: { base: cautious, tools: { uper: deny } } } }", /no tool 'uper'/],
    [
      "confirmations: { modes: { m: { base: manual, tools: { upper: auto } } } }",
      /base 'manual' asks about every call/,
    ],
    ["confirmations: { trustedWorkspaces: [/no/such/folder] }", /there is no such file or folder/],
    ["confirmations: { trustedWorkspaceOverrides: { write: auto } }", /there are no trusted workspaces/],
    ["sessions: { limits: { perTool: { uper: 1 } } }", /no tool 'uper'/],
    ["sessions: { limits: { perTool: { upper: 9 } } }", /'concurrency' allows 4 calls/],
    ["sessions: { limits: { calls: 2, callsPerTool: { upper: 3 } } }", /'calls' allows 2 calls/],
    ["agents: { a: { tools: [uper] } }", /no tool 'uper'/],
    ["agents: { a: { tools: [upper], limits: { calls: 0 } } }", /no call is allowed/],
    ["agents: { a: { tools: [upper], limits: { callsPerTool: { uper: 1 } } } }", /no tool 'uper'/],
    [
      "server: { token: { file: agent.token }, mcp: { approvalUrl: https://a.example } }",
      /only with 'server.sessions: true'/,
    ],
    ["server: { token: { file: agent.token }, mcp: {} }", /only with 'server.sessions: true'/],
    ["server: { listen: 'unix:x.sock', tokenName: a }", /'token', which is missing/],
    [`${APPROVED.replace("approves: [agent]", "approves: [bob]")}`, /this approver answers for no caller/],
    [`${SERVER}  workspaces: [/no/such/folder]`, /there is no such file or folder/],
  ])("%s", async (entry, message) => {
    const { code, stderr } = await check(`${TOOLS}${ALLOW_UPPER}${entry}\n`);
    expect(stderr).toMatch(message);
    expect(stderr.trimEnd().split("\n")).toHaveLength(1);
    expect(code).toBe(0);
  });

  test("such as what only concerns host tools, of a tool in another sandbox", async () => {
    const config = TOOLS.replace("sideEffects: none", "sideEffects: none\n    usesFiles: true") + ALLOW_UPPER;
    expect((await check(config)).stderr).toMatch(/'usesFiles' only concerns 'host'/);
  });

  test("such as staging the changes of a module, which no thread can", async () => {
    const staged = (host: string): string =>
      TOOLS.replace("    quickjs: ", `    usesFiles: staged\n    host: ${host}\n    quickjs: `) + ALLOW_UPPER;
    const { code, stderr } = await check(staged("{ module: fn.mjs }"));
    expect(stderr).toMatch(
      /:11:\d+: warning: changes of a module in a thread cannot be staged: write 'thread: false'/,
    );
    expect(code).toBe(0);
    expect((await check(staged("{ module: fn.mjs, thread: false }"))).stderr).not.toMatch(/cannot be staged/);
  });
});

const SESSIONS = `server:
  listen: 127.0.0.1:0
  sessions: true
  credentials:
    - { id: agent, token: { file: agent.token }, roles: [caller] }
    - { id: ann, token: { file: ann.token }, roles: [approver], approves: [agent] }
`;

describe("sandgate check names options that change nothing, and what to write", () => {
  test.each([
    ["sandboxes: { wasm: { cacheDirectory: c } }", "no tool runs in 'wasm': add one"],
    ["sandboxes: { keyValue: { maxKeys: 5 } }", "no rule grants 'capabilities.keyValue': add it to one"],
    ["sandboxes: { remote: { frames: true } }", "no tool has 'remote.executor': add one"],
    ["sandboxes: { microvm: { ready: 9, memoryBytes: 500000000 } }", "write at most 2, or more memory"],
    ["redaction: { names: [password] }", "'password' is always a secret: remove it"],
    ["redaction: { names: [pin, PIN] }", "an earlier name finds 'PIN', too"],
    ["unhandledErrors: message", "only concerns tools with 'host'"],
    [`${SESSIONS}  limits: { callTime: 10s }`, "only concerns calls without a session"],
    [`${SESSIONS}  limits: { remember: { calls: 10 } }`, "only concerns calls without a session"],
    [
      `${SESSIONS}  limits: { connections: 9, connectionsPerAddress: 10 }`,
      "as 'connections' allows 9 of all",
    ],
    [
      "server: { token: { file: agent.token }, limits: { callTime: 10s } }\ntimeouts: { quick: 5s, slow: 20s }",
      "'server.limits.callTime' ends every call after 10s",
    ],
    [`${SESSIONS}sessions: { limits: { ledgerEntries: 9 } }`, "no rule has a condition on earlier calls"],
    [`${SESSIONS}confirmations: { mode: plan }`, "add the toolset 'plan'"],
    [
      `${SESSIONS}confirmations: { tools: { upper: deny } }\nsessions: { limits: { callsPerTool: { upper: 3 } } }`,
      "'confirmations.tools' denies every call of 'upper'",
    ],
    [
      `${SESSIONS}confirmations: { trustedWorkspaces: [/tmp], trustedWorkspaceOverrides: { write: auto } }`,
      "'auto' is what holds in trusted workspaces",
    ],
    ["agents: { a: { tools: [] } }", "the agent can call no tool"],
    [
      "agents: { a: { tools: [upper], limits: { callsPerTool: { list: 3 } } } }",
      "the agent cannot call 'list'",
    ],
  ])("%s", async (options, message) => {
    const { code, stderr } = await check(`${TOOLS}${ALLOW_UPPER}${options}\n`);
    expect(stderr).toContain(message);
    expect(code).toBe(0);
  });

  test.each([
    ["limits: { net: 1MiB }", "'capabilities.net' grants no origin"],
    ["limits: { nestedCalls: 3 }", "'capabilities.tools' names no tool"],
    ["capabilities: { tools: [lits] }", "'lits' matches no registered tool: did you mean 'list'?"],
    [
      "capabilities: { tools: [list] }",
      "no rule allows calls of 'list', so that calls that tools make are denied",
    ],
    ["examples: { match: [{ arguments: 5 }] }", "no tool of this rule accepts these arguments"],
    ["principals: ['contractor-??']", "is compared as it is, except for '*'"],
    ["asked: '/pay/i'", "the slashes are part of the regular expression, and there are no flags"],
    [
      "history: [{ after: [list], in: turn }]",
      "no rule allows calls of 'list', so there are never earlier ones",
    ],
  ])("in a rule: %s", async (part, message) => {
    const rule = `{ tools: [upper], effect: allow, sandboxes: [quickjs], ${part} }`;
    const { stderr } = await check(`${TOOLS}policy: { rules: [${rule}] }\n`);
    expect(stderr).toContain(message);
  });

  test("a limit above the tool's own", async () => {
    const tools = TOOLS.replace("sideEffects: none", "sideEffects: none\n    timeout: 2s");
    const rule = "{ tools: [upper], effect: allow, sandboxes: [quickjs], limits: { wallTime: 3s } }";
    const { stderr } = await check(`${tools}policy: { rules: [${rule}] }\n`);
    expect(stderr).toContain("has no effect, as the tool's own 'timeout' is 2s");
  });
});

test("sandgate check names certificates of clients that give them nothing", async () => {
  using authority = new Authority();
  const { cert, key } = authority.issue();
  const files = { "cert.pem": cert, "key.pem": key, "ca.pem": authority.cert, "agent.token": "a".repeat(20) };
  const checked = async (more: string): Promise<string> => {
    const tls = "tls: { cert: cert.pem, key: key.pem, clientCa: ca.pem, clientCertificates: optional }";
    const server = `server: { listen: "127.0.0.1:0", token: { file: agent.token }, ${tls}${more} }\n`;
    const folder = await createFolder({ ...files, "sandgate.yaml": `${TOOLS}${ALLOW_UPPER}${server}` });
    return (await sandgate(["check", "--config", join(folder, "sandgate.yaml")])).stderr;
  };
  expect(await checked("")).toContain("no certificate has an id");
  expect(await checked(', certificates: { agent: "CN=agent" }')).not.toContain("no certificate has an id");
});
