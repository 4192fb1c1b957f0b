import { once } from "node:events";
import { chmod, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { type HardenedOptions, startHardened } from "../../examples/hardened-executor/start-hardened.ts";
import { readNote } from "../../examples/hardened-executor/tools.ts";
import type { RemoteExecution } from "../../src/remote-protocol/shapes.ts";
import { sandgate } from "../cli/sandgate.ts";
import { dispatch, dispatchBody, executionOf } from "./harness.ts";

const ROOT = resolve(import.meta.dirname, "../..");
/** The command, run from its sources. */
const COMMAND = {
  main: join(ROOT, "src/cli/main.ts"),
  code: [join(ROOT, "src"), join(ROOT, "node_modules"), join(ROOT, "package.json")],
};
const NOBODY = { uid: 65_534, gid: 65_534 };

const PROBES = `
import { writeFileSync, readFileSync, readdirSync } from "node:fs";
import { execFileSync, spawnSync } from "node:child_process";
import { connect } from "node:net";
import { Worker } from "node:worker_threads";

const attempts = {
  own: () => readFileSync(new URL("own.txt", import.meta.url), "utf8"),
  read: ({ path }) => readFileSync(path, "utf8"),
  list: ({ path }) => readdirSync(path),
  write: ({ path }) => writeFileSync(path, "x"),
  spawn: () => String(execFileSync("/bin/true")),
  spawnSync: () => { const { error } = spawnSync("/bin/true"); if (error) throw error; },
  addon: () => process.dlopen({ exports: {} }, "/lib/x86_64-linux-gnu/libc.so.6"),
  worker: () => new Promise((_, reject) => new Worker("1", { eval: true }).on("error", reject)),
  connect: ({ port }) => new Promise((resolve, reject) =>
    connect(port, "127.0.0.1").on("connect", () => resolve("connected")).on("error", reject)),
  fetch: ({ port }) => fetch("http://127.0.0.1:" + port).catch((error) => { throw error.cause ?? error; }),
  env: () => Object.keys(process.env),
  user: () => [process.getuid(), process.getgid(), process.getgroups()],
  signal: () => process.kill(process.ppid, 0),
};
export const probe = ({ attempt, ...rest }) => attempts[attempt](rest);
`;

const CONFIG = `
# What Node.js says is the reason that these tests look for.
unhandledErrors: message
tools:
  - { name: probe, description: Tries, inputSchema: { type: object }, host: { module: probes.mjs, export: probe, thread: false } }
policy:
  rules: [{ name: all, tools: ["*"], effect: allow, sandboxes: [host] }]
server: { dropNetwork: true }
`;

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sandgate-hardened-"));
  // Another user must be able to read it.
  await chmod(folder, 0o755);
  await writeFile(join(folder, "sandgate.yaml"), CONFIG);
  await writeFile(join(folder, "probes.mjs"), PROBES);
  await writeFile(join(folder, "own.txt"), "mine");
});
afterAll(() => rm(folder, { recursive: true, force: true }));

let lastId = 0;

/** Starts a hardened executor, and returns a function that calls its tools. */
async function start(
  options: Pick<HardenedOptions, "user" | "config">,
): Promise<(name: string, args: object) => Promise<RemoteExecution>> {
  const sockets = await mkdtemp(join(tmpdir(), "sandgate-socket-"));
  const socket = join(sockets, "executor.sock");
  const child = await startHardened({ ...COMMAND, ...options, socket });
  onTestFinished(async () => {
    const exited = once(child, "exit");
    child.kill("SIGTERM");
    expect(await exited).toEqual([0, null]);
    await rm(sockets, { recursive: true, force: true });
  });
  expect((await stat(socket)).mode & 0o777).toBe(0o600);
  return async (name, args) => {
    const body = dispatchBody({ id: String(++lastId), name, arguments: args });
    const answer = await dispatch({ address: `unix:${socket}` }, body, { headers: { host: "localhost" } });
    return executionOf(answer);
  };
}

/** Starts a hardened executor, and returns a function that calls its tool `probe`. */
async function harden(
  options: Pick<HardenedOptions, "user">,
): Promise<(attempt: string, more?: object) => Promise<RemoteExecution>> {
  const call = await start({ ...options, config: join(folder, "sandgate.yaml") });
  return (attempt, more = {}) => call("probe", { attempt, ...more });
}

test("the example's tool can read its own folder in the hardened executor, but not other files", async () => {
  const call = await start({ config: join(ROOT, "examples/hardened-executor/sandgate.yaml") });
  expect((await call("read_note", { name: "hello.txt" })).output).toBe("Ask for a receipt.\n");
  const elsewhere = { name: "../../../README.md" };
  await expect(readNote(elsewhere)).resolves.toMatch(/sandgate/i);
  expect((await call("read_note", elsewhere)).error?.message).toMatch(
    /^Tool failed \(reference [0-9a-f]{6}\)$/,
  );
});

describe("host tools in a hardened executor", () => {
  test("a host tool in a hardened executor can read its own folder only", async () => {
    const attempt = await harden({});
    expect((await attempt("own")).output).toBe("mine");
    for (const path of ["/etc/passwd", join(ROOT, "README.md"), "/proc/self/environ", `${folder}/../x`]) {
      expect((await attempt("read", { path })).error?.message).toMatch(/restricted/);
    }
    expect((await attempt("list", { path: "/" })).error?.message).toMatch(/restricted/);
  });

  test("a host tool in a hardened executor cannot write files, start processes or threads, or load addons", async () => {
    const attempt = await harden({});
    for (const path of [join(folder, "own.txt"), join(tmpdir(), "sandgate-written")]) {
      expect((await attempt("write", { path })).error?.message).toMatch(/restricted/);
    }
    for (const name of ["spawn", "spawnSync", "worker"]) {
      expect((await attempt(name)).error?.message).toMatch(/restricted/);
    }
    expect((await attempt("addon")).error?.message).toMatch(/addons is disabled/);
  });

  test("a host tool in a hardened executor has no network and an empty environment", async () => {
    const contacts: unknown[] = [];
    const canary = createServer((socket) => {
      contacts.push(socket.remoteAddress);
      socket.destroy();
    }).listen(0, "127.0.0.1");
    await once(canary, "listening");
    onTestFinished(() => void canary.close());
    const { port } = canary.address() as AddressInfo;
    const attempt = await harden({});
    for (const name of ["connect", "fetch"]) {
      expect((await attempt(name, { port })).error?.message).toMatch(/restricted/);
    }
    expect(contacts).toEqual([]);
    expect((await attempt("env")).output).toEqual([]);
  });

  test("a host tool in a hardened executor can run as another user, who cannot signal this process", async (context) => {
    if (process.getuid?.() !== 0) return context.skip("only root can start a process as another user");
    const attempt = await harden({ user: NOBODY });
    expect((await attempt("user")).output).toEqual([NOBODY.uid, NOBODY.gid, [NOBODY.gid]]);
    expect((await attempt("own")).output).toBe("mine");
    expect((await attempt("signal")).error?.message).toMatch(/EPERM/);
  });
});

test("an executor with dropNetwork does not start without Node's permission model", async () => {
  const { code, stderr } = await sandgate([
    "serve",
    "--config",
    join(folder, "sandgate.yaml"),
    "--listen",
    "127.0.0.1:0",
  ]);
  expect(code).toBe(2);
  expect(stderr).toMatch(/cannot drop the network: it needs Node's permission model/);
});
