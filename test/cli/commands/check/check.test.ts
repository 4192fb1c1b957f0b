import { generateKeyPairSync } from "node:crypto";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createFolder, type Outcome, PROJECT, sandgate } from "../../sandgate.ts";

/** Checks a config. Paths in its output are relative to the config's folder. */
async function check(files: Record<string, string>): Promise<Outcome> {
  const folder = await createFolder({ ...PROJECT, ...files });
  const { code, stdout, stderr } = await sandgate(["check", "--config", join(folder, "sandgate.yaml")]);
  const relative = (text: string): string => text.replaceAll(`${folder}/`, "");
  return { code, stdout: relative(stdout), stderr: relative(stderr) };
}

test("accepts a valid config with a one-line summary", async () => {
  expect(await check({})).toEqual({
    code: 0,
    stdout: "sandgate.yaml: 6 tools, 0 errors, 0 warnings\n",
    stderr: "",
  });
});

test("reports every problem of every part at once, in the order of the files", async () => {
  const { code, stdout, stderr } = await check({
    "sandgate.yaml": `tools:
  - name: add
    description: Adds
    inputSchema: schemas/missing.json
    host: { module: tools/host.mjs, export: add, thread: false }
  - name: add numbers
    description: Adds
    inputSchema: { type: nonsense }
    host: { module: tools/host.mjs, export: add, thread: false }
  - name: subtract
    description: Subtracts
    inputSchema: { type: object }
    host: { module: tools/host.mjs, export: subtract, thread: false }
  - name: gone
    description: Gone
    inputSchema: { type: object }
    host: { module: tools/gone.mjs, thread: false }
  - name: typo
    desciption: Misspelt
    inputSchema: { type: object }
    quickjs: { file: a.js, source: b }
  - name: nowhere
    description: Runs nowhere
    inputSchema: { type: object }
polcy: policy.yaml
sandboxes:
  workers: { threads: 0 }
`,
  });
  expect(stderr.split("\n")).toEqual([
    expect.stringMatching(/^sandgate\.yaml:1:1: 'policy' is missing$/),
    expect.stringMatching(/^sandgate\.yaml:6:5: the name must be 1 to 128 printable characters/),
    expect.stringMatching(/^sandgate\.yaml:6:5: the input schema does not compile: /),
    expect.stringMatching(/^sandgate\.yaml:13:21: the module has no export 'subtract': it exports [a-z, ]+$/),
    expect.stringMatching(/^sandgate\.yaml:17:21: the module cannot be found$/),
    expect.stringMatching(/^sandgate\.yaml:18:5: 'description' is missing$/),
    expect.stringMatching(/^sandgate\.yaml:19:5: unknown key 'desciption': did you mean 'description'\?$/),
    expect.stringMatching(/^sandgate\.yaml:21:14: must have either file or source$/),
    expect.stringMatching(/^sandgate\.yaml:22:5: the tool has no implementation/),
    expect.stringMatching(/^sandgate\.yaml:25:1: unknown key 'polcy': did you mean 'policy'\?$/),
    expect.stringMatching(/^sandgate\.yaml:27:23: must be from 1 to 1024$/),
    expect.stringMatching(/^schemas\/missing\.json:1:1: the file cannot be read: no such file or directory$/),
    "",
  ]);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "sandgate.yaml: 6 tools, 12 errors, 0 warnings\n" });
});

test("accepts stores, keys and tokens of the sandboxes, and reports their problems", async () => {
  const withRemote = (sandboxes: string): Record<string, string> => ({
    "sandgate.yaml": `${oneTool('quickjs: { source: "export default () => 1" }')}sandboxes:\n${sandboxes}`,
    "key.pem": String(generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" })),
    "token.txt": "a token of some length\n".replaceAll(" ", "-"),
    "empty.txt": "",
  });
  const sound = `  keyValue: { maxKeys: 10 }
  remote: { signingKey: key.pem, keyId: me, token: { file: token.txt } }
`;
  const { code: accepted, stderr: warnings } = await check(withRemote(sound));
  expect(accepted).toBe(0);
  // No tool of this config uses them.
  expect(warnings.split("\n").map((line) => line.slice(0, 25))).toEqual([
    "sandgate.yaml:8:3: warnin",
    "sandgate.yaml:9:3: warnin",
    "",
  ]);
  for (const [remote, problem] of [
    ["{ signingKey: gone.pem, keyId: me }", /:8:25: the file cannot be read/],
    ["{ signingKey: token.txt, keyId: me }", /:8:\d+: .*must be a private Ed25519 key/],
    ["{ signingKey: key.pem }", /:8:\d+: /],
    ["{ token: { env: SANDGATE_NO_SUCH_TOKEN } }", /:8:\d+: the environment variable is not set/],
    ["{ token: secret }", /:8:\d+: must be/],
    // Otherwise calls would go out unsigned.
    ["{ signingKey: empty.txt, keyId: me }", /:8:\d+: .*must be a private Ed25519 key/],
    ["{ token: { file: empty.txt } }", /:8:\d+: .*token must be printable ASCII/],
  ] as const) {
    const { code, stderr } = await check(withRemote(`  remote: ${remote}\n`));
    expect(stderr).toMatch(problem);
    expect(code).toBe(2);
  }
});

test("accepts a tool without a schema only if it is free-form, and then no schema at all", async () => {
  const tool = (members: string): Record<string, string> => ({
    "sandgate.yaml": `tools:
  - name: tool
    description: Takes a text
    ${members}
    quickjs: { source: "export default (text) => text" }
policy: { rules: [] }
`,
  });
  expect(await check(tool("freeform: true"))).toMatchObject({ code: 0, stderr: "" });
  for (const [members, problem] of [
    ["freeform: false", /^sandgate\.yaml:2:5: 'inputSchema' is missing\n$/],
    ["tags: [text]", /^sandgate\.yaml:2:5: 'inputSchema' is missing\n$/],
    ["freeform: 1", /^sandgate\.yaml:4:15: must be true or false, not a number$/m],
    ["freeform: true\n    inputSchema: { type: string }", /^sandgate\.yaml:5:5: is not allowed here\n$/],
    ["freeform: true\n    coerce: true", /^sandgate\.yaml:5:5: is not allowed here\n$/],
  ] as const) {
    const { code, stderr } = await check(tool(members));
    expect(stderr).toMatch(problem);
    expect(code).toBe(2);
  }
});

const oneTool = (implementation: string, policy = "{ rules: [] }"): string => `tools:
  - name: tool
    description: A tool
    inputSchema: { type: object }
    ${implementation}
policy: ${policy}
`;

test.each([
  ["a module that is missing", "host: { module: gone.mjs }", /the module cannot be read: .*gone\.mjs/],
  [
    "a module without the export",
    "host: { module: tools/hash.mjs, export: hash }",
    /the module has no export 'hash': it exports default/,
  ],
  [
    "a module whose export is not a function",
    "host: { module: data.mjs }",
    /the export of the module is not a function/,
  ],
  [
    "a time-out that is not a duration",
    "timeout: soon\n    quickjs: { source: export default () => 1 }",
    /must be a duration such as/,
  ],
  [
    "a path that is no pointer",
    "paths: [{ argument: path, access: read }]\n    quickjs: { source: export default () => 1 }",
    /paths must be a list of/,
  ],
  ["a QuickJS file that is missing", "quickjs: { file: gone.js }", /gone\.js|cannot be read/],
  ["QuickJS source with a syntax error", 'quickjs: { source: "export default (" }', /./],
  ["a component that is missing", "wasm: { component: gone.wasm }", /gone\.wasm|cannot be read/],
  ["a file that is not a component", "wasm: { component: data.mjs }", /component/],
  [
    "an in-process export that is not a function",
    "host: { module: data.mjs, thread: false }",
    /host must be/,
  ],
  ["a method that remote.web does not have", "remote: { web: { method: PUT } }", /GET or POST/],
  ["a remote tool with a URL that is not HTTP", "remote: { url: 'ftp://example.org/' }", /http/],
])("finds %s", async (_, implementation, message) => {
  const files = { "sandgate.yaml": oneTool(implementation), "data.mjs": "export default 7;" };
  const { code, stderr } = await check(files);
  expect(stderr).toMatch(/^sandgate\.yaml:[25]:\d+: .+\n$/);
  expect(stderr).toMatch(message);
  expect(code).toBe(2);
});

test.each([
  ["does not parse", "export const = 1;"],
  ["throws", "throw new Error('not today');"],
  ["imports a missing module", "import './gone.mjs';"],
])("finds a host module that %s, without a stack", async (_, text) => {
  for (const [thread, column] of [
    ["true", 5],
    ["false", 21],
  ]) {
    const yaml = oneTool(`host: { module: bad.mjs, thread: ${thread} }`);
    const { code, stderr } = await check({ "sandgate.yaml": yaml, "bad.mjs": text });
    expect(stderr).toMatch(new RegExp(`^sandgate\\.yaml:5:${column}: the module cannot be loaded: .+\n$`));
    expect(code).toBe(2);
  }
});

test("reports duplicate names, and checks an inline policy against the tools", async () => {
  const tool =
    "  - { name: a, description: A, inputSchema: { type: object }, quickjs: { source: 'export default () => 1' } }";
  const { stderr } = await check({
    "sandgate.yaml": `tools:
${tool}
${tool}
policy:
  rules:
    - { tools: [a], effect: allow, sandboxes: [wasm] }
    - { tools: [b], effect: deny }
`,
  });
  expect(stderr.split("\n")).toEqual([
    "sandgate.yaml:3:5: the name is taken",
    expect.stringMatching(
      /^sandgate\.yaml:6:\d+: tool 'a' runs only in quickjs, which this rule does not list$/,
    ),
    expect.stringMatching(/^sandgate\.yaml:7:17: warning: 'b' matches no registered tool$/),
    "",
  ]);
});

test("exits with 0 if there are only warnings", async () => {
  const { code, stdout } = await check({
    "policy.yaml": `${PROJECT["policy.yaml"]}  - { tools: [delete_all], effect: deny }\n`,
  });
  expect({ code, stdout }).toEqual({ code: 0, stdout: "sandgate.yaml: 6 tools, 0 errors, 1 warning\n" });
});

test.each([
  ["invalid YAML", "tools: [", /^sandgate\.yaml:1:\d+: /],
  ["a list", "- tools", /^sandgate\.yaml:1:1: must be a map, not a list\n/],
  [
    "tools that are not a list",
    "tools: { a: 1 }\npolicy: { rules: [] }",
    /^sandgate\.yaml:1:8: must be a list/,
  ],
  [
    "an invalid policy",
    "tools: []\npolicy: 7",
    /^sandgate\.yaml:2:9: must be a map or a string or a list, not a number\n/,
  ],
])("reports %s once, with its position", async (_, text, message) => {
  const { code, stderr } = await check({ "sandgate.yaml": text });
  expect(stderr).toMatch(message);
  expect(stderr.trimEnd().split("\n")).toHaveLength(1);
  expect(code).toBe(2);
});

test("maps a schema's dialect if the tool names one, and locates what cannot be mapped", async () => {
  const config = (type: string, dialect = "\n    dialect: auto"): string => `
tools:
  - name: tool
    description: ""${dialect}
    nullForOptional: reject
    coerce: true
    inputSchema:
      type: dict
      properties:
        at: { type: ${type} }
    quickjs: { source: "export default () => 1" }
policy: { rules: [{ tools: [tool], effect: allow, sandboxes: [quickjs] }] }
`;
  const check = async (text: string): ReturnType<typeof sandgate> =>
    sandgate(["check", "--config", join(await createFolder({ "sandgate.yaml": text }), "sandgate.yaml")]);
  expect(await check(config("float"))).toMatchObject({ code: 0, stderr: "" });
  expect((await check(config("quaternion"))).stderr).toMatch(/sandgate\.yaml:11:\d+: .*quaternion/);
  expect((await check(config("float", ""))).stderr).toMatch(/sandgate\.yaml:3:\d+: .*type/);
});

test("a grant of the workspace is a warning, since nothing provides one", async () => {
  const tool = `{ name: js, description: "", inputSchema: { type: object }, quickjs: { source: "export default () => 1" } }`;
  const { code, stdout, stderr } = await check({
    "sandgate.yaml": `tools:\n  - ${tool}\npolicy: policy.yaml\n`,
    "policy.yaml": `rules:
  - { tools: [js], effect: allow, sandboxes: [quickjs], capabilities: { fs: [{ workspace: src, write: true }] } }
default: { sandboxes: [quickjs], capabilities: { fs: [{ workspace: true }] } }
`,
  });
  const warning = "warning: nothing provides a workspace here, so calls that need this grant are denied";
  expect(stderr).toBe(`policy.yaml:2:91: ${warning}\npolicy.yaml:3:68: ${warning}\n`);
  expect([code, stdout]).toEqual([0, "sandgate.yaml: 1 tool, 0 errors, 2 warnings\n"]);
});

test("a tool that declares traits under their former names is refused, with what to write", async () => {
  const { code, stderr } = await check({
    "sandgate.yaml": `tools:
  - name: fn
    description: Writes a note
    inputSchema: { type: object }
    usesFiles: true
    writesThroughFiles: true
    alwaysConfirm: true
    submitsPlan: false
    host: { module: fn.mjs, thread: false }
policy: policy.yaml
`,
    "fn.mjs": "export default () => 1;",
  });
  expect(stderr.split("\n").filter((line) => line.startsWith("sandgate.yaml"))).toEqual([
    "sandgate.yaml:6:5: unknown key 'writesThroughFiles': write 'usesFiles: \"staged\"' in place of 'writesThroughFiles: true'",
    "sandgate.yaml:7:5: unknown key 'alwaysConfirm': write 'confirm: \"always\"' in place of 'alwaysConfirm: true'",
    "sandgate.yaml:8:5: unknown key 'submitsPlan': write 'confirm: \"plan\"' in place of 'submitsPlan: true'",
  ]);
  expect(code).toBe(2);
});

test("a host tool that declares usesFiles can be granted files", async () => {
  const { code, stderr } = await check({
    "sandgate.yaml": `tools:
  - name: fn
    description: Reads a note
    inputSchema: { type: object, properties: { path: { type: string } } }
    usesFiles: true
    host: { module: fn.mjs }
policy:
  rules:
    - tools: [fn]
      effect: allow
      sandboxes: [host]
      limits: { file: 1MiB }
      capabilities: { fs: [{ file: { argument: /path }, within: notes, write: true }] }
`,
    "notes/a.txt": "",
    "fn.mjs": "export default ({ path }, { files }) => files.read(path);",
  });
  expect([code, stderr]).toEqual([0, ""]);
});

test("an argument that a grant takes a file from must be a text of the tool's input", async () => {
  const rule = (argument: string): string =>
    `  - { tools: [js], effect: allow, sandboxes: [quickjs], capabilities: { fs: [{ file: { argument: ${argument} }, within: . }] } }`;
  const { code, stderr } = await check({
    "sandgate.yaml": `tools:
  - name: js
    description: ""
    inputSchema: { type: object, additionalProperties: false, properties: { path: { type: string }, depth: { type: integer } } }
    quickjs: { source: "export default () => 1" }
policy: policy.yaml
`,
    "policy.yaml": `rules:\n${["/path", "/pth", "/depth"].map(rule).join("\n")}\n`,
  });
  expect(code).not.toBe(0);
  expect(stderr.trimEnd().split("\n")).toEqual([
    "policy.yaml:3:98: the input of tool 'js' has no '/pth': did you mean 'path'?",
    "policy.yaml:4:98: a string is required here, and this argument is never one in the input of tool 'js'",
  ]);
});

describe("a policy under which calls must fail", () => {
  const TOOLS = `tools:
  - { name: js, description: "", inputSchema: { type: object }, quickjs: { source: "export default () => 1" } }
  - name: api
    description: ""
    inputSchema: { type: object }
    remote: { http: { url: "https://api.example.com/x", headers: { authorization: "{secret:SANDGATE_NO_SUCH}" } } }
  - { name: fn, description: "", inputSchema: { type: object }, host: { module: fn.mjs } }
`;
  const problems = async (rules: string): Promise<{ code: number; lines: string[] }> => {
    const files = {
      "sandgate.yaml": `${TOOLS}policy: policy.yaml\n`,
      "policy.yaml": `rules:\n${rules}`,
      "fn.mjs": "export default () => 1;",
    };
    const { code, stderr } = await check(files);
    return { code, lines: stderr.trimEnd().split("\n") };
  };

  test.each<[string, string, string]>([
    [
      "a limit that the sandbox cannot hold",
      "  - { tools: [fn], effect: allow, sandboxes: [host], limits: { memory: 64MiB } }",
      "2:72: the 'host' sandbox cannot enforce this limit: calls of 'fn' fail",
    ],
    [
      "too little memory for QuickJS",
      "  - { tools: [js], effect: allow, sandboxes: [quickjs], limits: { memory: 1MiB } }",
      "2:75: the 'quickjs' sandbox cannot enforce this limit: calls of 'js' fail",
    ],
    [
      "a limit that no number can hold",
      "  - { tools: [js], effect: allow, sandboxes: [quickjs], limits: { logLines: 1e300 } }",
      "2:77: must be <= 9007199254740991",
    ],
    [
      "a capability that the sandbox cannot give",
      "  - { tools: [js], effect: allow, sandboxes: [quickjs], capabilities: { env: [HOME] } }",
      "2:78: the 'quickjs' sandbox cannot give this capability: calls of 'js' fail",
    ],
    [
      "files for a host tool that does not declare to use them",
      "  - { tools: [fn], effect: allow, sandboxes: [host], capabilities: { fs: [{ directory: . }] } }",
      "2:74: the 'host' sandbox gives files only to tools that declare 'usesFiles: true': calls of 'fn' fail",
    ],
    [
      "files for an HTTP tool",
      "  - { tools: [api], effect: allow, sandboxes: [remote], capabilities: { fs: [{ file: { argument: /p }, within: . }] } }",
      "2:77: the 'remote' sandbox cannot give this capability: calls of 'api' fail",
    ],
    [
      "an HTTP tool without net",
      "  - { tools: [api], effect: allow, sandboxes: [remote], capabilities: { secrets: [PATH] } }",
      `2:71: the tool needs 'net: ["https://api.example.com"]', which the matching rules do not all grant: calls of 'api' fail`,
    ],
    [
      "an HTTP tool without its secret",
      '  - { tools: [api], effect: allow, sandboxes: [remote], capabilities: { net: ["https://*"] } }',
      "2:71: the tool needs 'secrets: [SANDGATE_NO_SUCH]', which the matching rules do not all grant: calls of 'api' fail",
    ],
    [
      "a secret that is not there",
      '  - { tools: [api], effect: allow, sandboxes: [remote], capabilities: { net: ["https://*"], secrets: [SANDGATE_NO_SUCH] } }',
      "2:103: there is no such secret: the environment variable is not set: calls of 'api' fail",
    ],
    [
      "a rule that asks and grants what the sandbox cannot hold",
      "  - { tools: [fn], effect: ask, sandboxes: [host], limits: { stack: 64KiB } }",
      "2:69: the 'host' sandbox cannot enforce this limit: calls of 'fn' fail",
    ],
    [
      "a default that no sandbox of the tools can hold",
      "  - { tools: [js, api], effect: deny }\ndefault: { sandboxes: [host], limits: { logLines: 1 } }",
      "3:51: the 'host' sandbox cannot enforce this limit: calls of 'fn' fail",
    ],
  ])("finds %s, with its position", async (_case, rules, problem) => {
    const { code, lines } = await problems(`${rules}\n`);
    expect(lines.join("\n")).toContain(`policy.yaml:${problem}`);
    expect(code).toBe(2);
  });

  test("finds rules that always apply together and have no sandbox in common", async () => {
    const { lines } = await problems(`  - { tools: ["*"], effect: allow, sandboxes: [host, remote] }
  - { tools: [js], effect: allow, sandboxes: [quickjs] }
`);
    expect(lines.join("\n")).toContain(
      "policy.yaml:3:46: this rule has no sandbox in common with the other rules that apply to the same calls: calls of 'js' fail",
    );
  });

  test("finds a component that is granted a store where there are none", async () => {
    const { stderr } = await check({
      "sandgate.yaml": `tools:
  - { name: guest, description: "", inputSchema: { type: object }, wasm: { component: gone.wasm } }
policy:
  rules:
    - { tools: [guest], effect: allow, sandboxes: [wasm], capabilities: { keyValue: [notes] } }
`,
    });
    expect(stderr).toContain(
      "sandgate.yaml:5:85: there are no key-value stores: add 'keyValue' to 'sandboxes'",
    );
  });

  test("a wildcard that some tools can hold is only a warning", async () => {
    const { code, lines } = await problems(
      '  - { tools: ["*"], effect: allow, sandboxes: [quickjs, remote, host], limits: { logLines: 5 } }\n',
    );
    expect(lines.join("\n")).toContain(
      "policy.yaml:2:92: warning: the 'remote' sandbox cannot enforce this limit: calls of 'api' fail",
    );
    expect(lines.join("\n")).toContain(
      "policy.yaml:2:92: warning: the 'host' sandbox cannot enforce this limit: calls of 'fn' fail",
    );
    expect(code).toBe(0);
  });

  test("says nothing about calls that are denied anyway, or limits that a stricter rule replaces", async () => {
    const { code, lines } = await problems(`  - { tools: [api, fn], effect: deny }
  - { tools: [fn], effect: allow, sandboxes: [host], limits: { memory: 64MiB } }
  - { tools: [js], effect: allow, sandboxes: [quickjs], limits: { stack: 1GiB } }
  - { tools: [js], effect: allow, sandboxes: [quickjs], limits: { stack: 64KiB } }
`);
    expect(lines).toEqual([expect.stringContaining("warning: this rule has no effect")]);
    expect(code).toBe(0);
  });
});

test("joins a list of policies, and checks them together", async () => {
  const config = {
    ...PROJECT,
    "sandgate.yaml": `${PROJECT["sandgate.yaml"]}`.replace(
      "policy: policy.yaml",
      "policy: [org.yaml, policy.yaml]",
    ),
  };
  const org = (sandboxes: string): string =>
    `rules: [{ name: org, tools: ["*"], effect: allow, sandboxes: [${sandboxes}] }]`;
  expect(await check({ ...config, "org.yaml": org("host, quickjs") })).toMatchObject({ code: 0, stderr: "" });
  const { code, stderr } = await check({ ...config, "org.yaml": org("host") });
  expect(stderr).toMatch(/^policy.yaml:4:\d+: this rule has no sandbox in common .*'upper'/m);
  expect(code).toBe(2);
  expect((await check({ ...config, "org.yaml": "rules: 5" })).stderr).toMatch(
    /^org.yaml:1:8: must be a list/,
  );
});

describe("a rule for principals", () => {
  const key = generateKeyPairSync("ed25519").publicKey.export({ type: "spki", format: "pem" });
  const rules = '{ tools: [tool], principals: [ci, "bot-*"], effect: allow, sandboxes: [quickjs] }';
  const config = oneTool('quickjs: { source: "export default () => 1" }', `{ rules: [${rules}] }`);
  const NO_CI = "sandgate.yaml:6:49: warning: no key or token of the server has the id 'ci'\n";
  const NO_BOT = "sandgate.yaml:6:53: warning: no key or token of the server has the id 'bot-*'\n";

  test.each([
    ["the key of a bot", "server: { keys: { ci: key.pem, bot-7: key.pem } }", ""],
    ["one of two keys", "server: { keys: { ci: key.pem } }", NO_BOT],
    ["a token of that name", "server: { token: { file: token }, tokenName: bot-1 }", NO_CI],
    ["a token with the usual name", "server: { token: { file: token } }", NO_CI + NO_BOT],
    [
      "a unix socket, where callers need the key",
      "server: { listen: unix:s, keys: { ci: key.pem } }",
      NO_BOT,
    ],
    ["a unix socket, where all are local", "server: { listen: unix:s }", NO_CI + NO_BOT],
    ["a port without credentials", "server: { listen: 127.0.0.1:0 }", NO_CI + NO_BOT],
    ["no server, so that all callers are elsewhere", "", ""],
  ])("is compared with the callers of the server: %s", async (_server, server, warnings) => {
    const files = { "key.pem": String(key), token: "a-token-of-some-length-for-tests" };
    const outcome = await check({ "sandgate.yaml": `${config}${server}\n`, ...files });
    expect(outcome).toMatchObject({ code: 0, stderr: warnings });
  });

  test("that names the only caller of a unix socket is found to match", async () => {
    const local = config.replace('[ci, "bot-*"]', "[local]");
    expect((await check({ "sandgate.yaml": `${local}server: { listen: unix:s }\n` })).stderr).toBe("");
  });
});
