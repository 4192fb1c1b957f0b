import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { readFile, stat, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { describe, expect, onTestFinished, test } from "vitest";
// Inside: the example of the docs names files that are not here, so that only its shape can be checked.
import { SERVER_SHAPE } from "../../../src/cli/config/server/server-entry.ts";
import { ConfigSource } from "../../../src/config/source.ts";
import { signRequest } from "../../../src/remote-protocol/signatures/sign-request.ts";
import {
  type Answer,
  dispatch,
  dispatchBody,
  executionOf,
  KeyedClient,
  problemOf,
  send,
} from "../../executor/harness.ts";
import { createFolder, PROJECT, sandgate } from "../sandgate.ts";
import { serve, start, waitForStuckWorker, withServer, withStuckWorker } from "../serve.ts";

const TOKEN = "correct-horse-battery-staple";

describe("sandgate serve", () => {
  test("serves the tools of a config", async () => {
    const server = await serve(PROJECT);
    const answer = await dispatch(server, dispatchBody({ name: "add", arguments: { a: 1, b: 2 } }));
    expect(executionOf(answer).output).toBe(3);
    const denied = await dispatch(server, dispatchBody({ id: "2", name: "forbidden" }));
    expect(executionOf(denied).error?.code).toBe("permission_denied");
    expect(await server.end()).toBe(0);
  });

  test("follows what the config says about calls, and leaves the budget of results to its clients", async () => {
    const server = await serve({
      ...PROJECT,
      "sandgate.yaml": `${PROJECT["sandgate.yaml"]}
timeouts: { quick: 7s, slow: 8s }
unhandledErrors: redacted
redaction: { names: [a], results: true }
resultBudget: { chars: 10 }
`,
    });
    const added = await dispatch(server, dispatchBody({ name: "add", arguments: { a: 1, b: 2 } }));
    expect(executionOf(added)).toMatchObject({
      arguments: { a: 1, b: 2 },
      receipt: { enforced: { wallTimeMs: 7_000 } },
    });
    expect(executionOf(added)).not.toHaveProperty("resultBudget");
    const failed = await dispatch(server, dispatchBody({ id: "2", name: "broken" }));
    expect(executionOf(failed).error?.message).toMatch(/^Tool failed \(reference [0-9a-f]{6}\)$/);
  });

  test("logs what a shadow policy decides otherwise, and decides without it", async () => {
    const server = await serve({
      ...PROJECT,
      "sandgate.yaml": `${PROJECT["sandgate.yaml"]}\nshadow: candidate.yaml\n`,
      "candidate.yaml": `rules:
  - { name: kept, tools: [wait, broken, hash, upper, forbidden], effect: allow, sandboxes: [host, quickjs] }
  - { name: no sums, tools: [add], effect: deny }
`,
    });
    const answer = await dispatch(server, dispatchBody({ id: "7", name: "add", arguments: { a: 1, b: 2 } }));
    expect(executionOf(answer).output).toBe(3);
    const text = dispatchBody({ id: "8", name: "hash", arguments: { text: "" } });
    expect(executionOf(await dispatch(server, text)).success).toBe(true);
    expect(await server.end()).toBe(0);
    const entries = (await server.log())
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    const differences = entries.filter(({ event }) => event === "policy.difference");
    expect(differences[0]).toMatchObject({
      level: "info",
      callId: "7",
      toolName: "add",
      change: "narrower",
      decision: "allow",
      rules: ["on the host"],
      candidateDecision: "deny",
      candidateRules: ["no sums"],
      candidateRevision: expect.stringMatching(/^[0-9a-f]{64}$/),
      argumentDigest: expect.any(String),
    });
    expect(differences.map(({ callId }) => callId)).toEqual(["7"]);
  });

  test("refuses a shadow policy that has errors", async () => {
    const folder = await createFolder({
      ...PROJECT,
      "sandgate.yaml": `${PROJECT["sandgate.yaml"]}\nshadow: candidate.yaml\n`,
      "candidate.yaml": "rules: [{ tools: [add], effect: dny }]",
    });
    const { code, stderr } = await sandgate(["check", "--config", join(folder, "sandgate.yaml")]);
    expect(stderr).toContain("candidate.yaml:1:33: must be one of allow, deny, ask");
    expect(code).toBe(2);
  });

  test("records its calls, and keeps the policies that decide on them", async () => {
    const server = await serve({
      ...PROJECT,
      "sandgate.yaml": `${PROJECT["sandgate.yaml"]}\njournal: { directory: records }\n`,
    });
    await dispatch(server, dispatchBody({ name: "add", arguments: { a: 1, b: 2 } }));
    const directory = join(server.folder, "records");
    const second = await sandgate([
      "serve",
      "--config",
      join(server.folder, "sandgate.yaml"),
      "-l",
      "127.0.0.1:0",
    ]);
    expect(second).toMatchObject({ code: 2, stderr: expect.stringContaining("is open already") });
    expect(await server.end()).toBe(0);
    const { stdout } = await sandgate(["journal", "show", "--directory", directory]);
    expect(stdout).toMatch(/dispatched \(allow\) add .*\n.* ended \(ok\) add /);
    const replayed = await sandgate(["journal", "replay", "--directory", directory]);
    expect(replayed).toMatchObject({ code: 0, stdout: "1 calls are decided as recorded, 0 differently\n" });
  });

  test("listens on the config's address, with the token and keys of its files", async () => {
    const { publicKey, privateKey } = generateKeyPairSync("ed25519");
    const server = await serve(
      {
        ...withServer(`
  listen: unix:run.sock
  keys: { agent-1: keys/agent.pem }
  token: { file: token.txt }
  limits: { inFlight: 2, body: 1KiB, drainTime: 1s, remember: { calls: 10, size: 1MiB, time: 1m } }`),
        "keys/agent.pem": String(publicKey.export({ type: "spki", format: "pem" })),
        "token.txt": `${TOKEN}\n`,
      },
      [],
    );
    expect(server.address).toBe(`unix:${join(server.folder, "run.sock")}`);
    expect((await stat(join(server.folder, "run.sock"))).mode & 0o777).toBe(0o600);
    const body = dispatchBody({ name: "add", arguments: { a: 1, b: 2 } });
    const host = { host: "localhost" };
    expect(problemOf(await dispatch(server, body, { headers: host }))).toBe("401 unauthenticated");
    const bearer = { ...host, authorization: `Bearer ${TOKEN}` };
    expect(executionOf(await dispatch(server, body, { headers: bearer })).output).toBe(3);
    const signed = signRequest(
      { method: "POST", authority: "localhost", path: "/v1/dispatch", body },
      { keyId: "agent-1", privateKey },
    );
    expect(executionOf(await dispatch(server, body, { headers: { ...host, ...signed } })).output).toBe(3);
    const large = await dispatch(server, " ".repeat(1_025), { headers: bearer });
    expect(problemOf(large)).toBe("413 too_large");
  });

  test("accepts the example of the documentation", async () => {
    const document = await readFile(resolve(import.meta.dirname, "../../../docs/remote-protocol.md"), "utf8");
    const [, yaml = ""] = /```yaml\n(.*?)```/s.exec(document) ?? [];
    expect(ConfigSource.parse(yaml, "docs").check(SERVER_SHAPE, ["server"])).toEqual([]);
  });

  test("reads the token from the environment", async () => {
    process.env["SANDGATE_TEST_TOKEN"] = TOKEN;
    onTestFinished(() => void delete process.env["SANDGATE_TEST_TOKEN"]);
    const server = await serve(withServer("{ token: { env: SANDGATE_TEST_TOKEN } }"));
    const tools = { method: "GET", path: "/v1/tools" };
    expect(problemOf(await send(server, tools))).toBe("401 unauthenticated");
    const headers = { authorization: `Bearer ${TOKEN}` };
    expect((await send(server, { ...tools, headers })).status).toBe(200);
  });

  test("reports every problem of the config's server with its position, like check", async () => {
    const { privateKey } = generateKeyPairSync("ed25519");
    const folder = await createFolder({
      ...withServer(`
  listen: "7420"
  basePath: tools/
  keys: { a: missing.pem, b: private.pem, c: token.txt }
  token: { file: token.txt }
  limits: { body: much, drainTime: 100h, callTime: 1000h }`),
      "private.pem": String(privateKey.export({ type: "pkcs8", format: "pem" })),
      "token.txt": "short",
    });
    const file = join(folder, "sandgate.yaml");
    for (const argv of [
      ["serve", "--config", file, "--listen", "127.0.0.1:0"],
      ["check", "--config", file],
    ]) {
      const { code, stderr } = await sandgate(argv);
      expect(code).toBe(2);
      for (const message of [
        "listen: must be HOST:PORT",
        "must be a path such as /tools",
        "the file cannot be read",
        "the file contains a private key: an executor needs only the public key",
        "the file does not contain a public key in PEM",
        "the token must have at least 16 characters",
        "must be a size such as",
        "must be at most",
      ]) {
        expect(stderr).toContain(message.replace("listen: ", ""));
      }
      expect(stderr.trim().split("\n")).toHaveLength(8);
    }
  });

  test.each<[string, RegExp]>([
    ["{ token: secret }", /must be a map \(keys: file, env\), not a string/],
    ["{ token: { value: secret } }", /unknown key 'value'/],
    ["{ tokens: {} }", /did you mean 'token'/],
    ["{ limits: { inFlight: 0 } }", /must be from 1 to/],
    ["{ limits: { connectionsPerAddress: 0 } }", /must be from 1 to/],
    ["{ token: { env: SANDGATE_NO_SUCH_VARIABLE } }", /the environment variable is not set/],
  ])("refuses the config %s", async (server, message) => {
    const folder = await createFolder(withServer(server));
    const { code, stderr } = await sandgate(["serve", "--config", join(folder, "sandgate.yaml")]);
    expect(code).toBe(2);
    expect(stderr).toMatch(message);
  });

  test("refuses to listen beyond this machine without authentication", async () => {
    const folder = await createFolder(PROJECT);
    const argv = ["serve", "--config", join(folder, "sandgate.yaml"), "--listen"];
    const open = await sandgate([...argv, "0.0.0.0:0"]);
    expect(open).toMatchObject({ code: 2, stdout: "" });
    expect(open.stderr).toMatch(/cannot listen on 0\.0\.0\.0:0: .*loopback or a unix socket only/);
    const wrong = await sandgate([...argv, "everywhere"]);
    expect(wrong.stderr).toMatch(/--listen must be HOST:PORT/);
  });
});

describe("the process of an executor", () => {
  test("answers 20 calls in flight after SIGTERM and exits with 0", async () => {
    const folder = await createFolder({
      ...withServer("{ limits: { drainTime: 30s } }"),
      "tools/host.mjs": `
export const add = ({ a, b }) => new Promise((resolve) => setTimeout(resolve, 3_000, a + b));
export const wait = () => new Promise(() => {});
export const broken = () => {};
`,
    });
    const { address, child } = await start(folder);
    const answers = Array.from({ length: 20 }, (_, index) =>
      dispatch({ address }, dispatchBody({ id: `c${index}`, name: "add", arguments: { a: 1, b: index } })),
    );
    await waitForCalls(address, 20);
    const exited = once(child, "exit");
    child.kill("SIGTERM");
    const outputs = (await Promise.all(answers)).map((answer) => executionOf(answer).output);
    expect(outputs).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
    expect(await exited).toEqual([0, null]);
  });

  test("cancels and answers a call that never ends after SIGTERM, and exits with 0", async () => {
    const folder = await createFolder(withServer("{ limits: { drainTime: 100ms } }"));
    const { address, child } = await start(folder);
    const answer = dispatch({ address }, dispatchBody({ name: "wait" }));
    await waitForCalls(address, 1);
    const exited = once(child, "exit");
    child.kill("SIGTERM");
    expect(executionOf(await answer).error).toMatchObject({ code: "cancelled", effect: "unknown" });
    expect(await exited).toEqual([0, null]);
  });

  test.each([
    "SIGTERM",
    "SIGINT",
  ] as const)("that gets %s with a call whose thread cannot be ended answers, and exits with 0", async (signal) => {
    const folder = await createFolder(withStuckWorker("{ limits: { drainTime: 100ms } }"));
    const { address, child } = await start(folder);
    const answer = dispatch({ address }, dispatchBody({ name: "hash", arguments: { text: "" } }));
    await waitForStuckWorker(folder);
    const exited = once(child, "exit");
    child.kill(signal);
    const { error, receipt } = executionOf(await answer);
    expect({ error, receipt }).toMatchObject({
      error: { code: "cancelled", effect: "unknown" },
      receipt: { mayStillRun: true },
    });
    expect(await exited).toEqual([0, null]);
  });

  test("that gets SIGHUP reloads tools, policy, keys and token, and a bad file changes nothing", async () => {
    const [first, second] = [new KeyedClient("first"), new KeyedClient("second")];
    const pem = ({ publicKey }: KeyedClient): string =>
      String(publicKey.export({ type: "spki", format: "pem" }));
    const folder = await createFolder({
      ...withServer("{ keys: { first: first.pem }, token: { file: token.txt } }"),
      "token.txt": TOKEN,
      "first.pem": pem(first),
      "second.pem": pem(second),
    });
    const { address, child } = await start(folder);
    const lines = createInterface(child.stderr as Readable)[Symbol.asyncIterator]();
    const change = async (file: string, text: string): Promise<string> => {
      await writeFile(join(folder, file), text);
      child.kill("SIGHUP");
      for (;;) {
        const { value } = await lines.next();
        const { event, level } = JSON.parse(value ?? "");
        if (/^config\.re/.test(event)) return `${level} ${event}`;
      }
    };
    const add = (client: KeyedClient, id: string): Promise<Answer> =>
      client.dispatch({ address }, dispatchBody({ id, name: "add", arguments: { a: 1, b: 2 } }));
    const bearer = (token: string, id: string, name: string): Promise<Answer> =>
      dispatch({ address }, dispatchBody({ id, name, arguments: { text: "" } }), {
        headers: { authorization: `Bearer ${token}` },
      });
    expect(executionOf(await add(first, "1")).output).toBe(3);
    expect(problemOf(await add(second, "1"))).toBe("403 unknown_key");

    const broken = await change("sandgate.yaml", "tools: []\npolicy: {");
    expect(broken).toBe("error config.refused");
    expect(executionOf(await add(first, "2")).output).toBe(3);

    const open = await change("policy.yaml", "rules:\n  - { name: x, tools: [add], effect: deny }\n");
    expect(open).toBe("error config.refused");
    expect(executionOf(await bearer(TOKEN, "1", "upper")).error?.code).toBeUndefined();
    const config = withServer("{ keys: { second: second.pem }, token: { file: token.txt } }")[
      "sandgate.yaml"
    ];
    await writeFile(join(folder, "token.txt"), `another-${TOKEN}`);
    const renamed = config?.replace("name: upper", "name: capitals") ?? "";
    expect(await change("sandgate.yaml", renamed)).toBe("info config.reloaded");
    expect(problemOf(await bearer(TOKEN, "2", "hash"))).toBe("401 unauthenticated");
    expect(executionOf(await bearer(`another-${TOKEN}`, "2", "upper")).error?.code).toBe("not_found");
    expect(executionOf(await bearer(`another-${TOKEN}`, "3", "capitals")).error?.code).toBe(
      "permission_denied",
    );
    expect(problemOf(await add(first, "3"))).toBe("403 unknown_key");
    expect(executionOf(await add(second, "3")).error?.code).toBe("permission_denied");

    const exited = once(child, "exit");
    child.kill("SIGTERM");
    expect(await exited).toEqual([0, null]);
  });

  test("that gets a signal twice ends at once", async () => {
    const folder = await createFolder(withStuckWorker("{ limits: { drainTime: 1h } }"));
    const { address, child } = await start(folder);
    const answer = dispatch({ address }, dispatchBody({ name: "hash", arguments: { text: "" } }));
    await waitForStuckWorker(folder);
    const exited = once(child, "exit");
    child.kill("SIGTERM");
    const lost = expect(answer).rejects.toThrow();
    // The first one has arrived when the executor is no longer ready for calls.
    const isReady = async (): Promise<boolean> =>
      (await send({ address }, { method: "GET", path: "/readyz" })).status === 200;
    while (await isReady().catch(() => false));
    child.kill("SIGTERM");
    await lost;
    expect(await exited).toEqual([null, "SIGTERM"]);
  });
});

async function waitForCalls(address: string, count: number): Promise<void> {
  const metrics = async (): Promise<string> =>
    (await send({ address }, { method: "GET", path: "/metrics" })).text;
  while (!(await metrics()).includes(`sandgate_calls_in_flight ${count}`));
}
