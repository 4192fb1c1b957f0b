import { once } from "node:events";
import { mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "undici";
import { describe, expect, onTestFinished, test } from "vitest";
import { ToolRegistry } from "../../src/engine/registry.ts";
import { ListenError } from "../../src/http/listen-address.ts";
import { openJournal } from "../../src/journal/journal.ts";
import { HostPolicy } from "../../src/policy/policy.ts";
import {
  CountingTool,
  dispatch,
  dispatchBody,
  executionOf,
  HeldTool,
  KeyedClient,
  problemOf,
  send,
  startExecutor,
  until,
} from "./harness.ts";

async function createFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "sandgate-executor-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

describe("listening", () => {
  test("an executor without credentials listens on loopback or a unix socket only", async () => {
    for (const listen of ["0.0.0.0:0", "[::]:0", "192.0.2.1:0", "executor.example:0"]) {
      await expect(startExecutor([], { listen })).rejects.toThrow(/loopback or a unix socket only/);
    }
    const open = await startExecutor([], {
      listen: "0.0.0.0:0",
      token: "0123456789abcdef",
      plainHttp: true,
    });
    expect(open.address).toMatch(/^0\.0\.0\.0:[0-9]+$/);
  });

  test.each([
    "7420",
    "localhost",
    "127.0.0.1:99999",
    "unix:",
    `unix:/${"x".repeat(200)}`,
    "fd:x",
    "http://127.0.0.1:1",
  ])("an executor cannot listen on the invalid address %s", async (listen) => {
    await expect(startExecutor([], { listen })).rejects.toThrow(/listen must be HOST:PORT/);
  });

  test("an executor with a misspelt option does not start, as without its token", async () => {
    await expect(startExecutor([], { tokne: "0123456789abcdef" } as never)).rejects.toThrow(
      "unknown option 'tokne' of an executor: did you mean 'token'?",
    );
    await expect(startExecutor([], { redactoin: {} } as never)).rejects.toThrow("did you mean 'redaction'?");
  });

  test("an executor accepts localhost, its address and its own names as host", async () => {
    const executor = await startExecutor([new CountingTool().tool], { hosts: ["Executor.Example"] });
    const port = executor.address.split(":")[1];
    for (const host of [`localhost:${port}`, `127.0.0.1:${port}`, "executor.example", "EXECUTOR.example"]) {
      const answer = await dispatch(executor, dispatchBody({ name: "count" }), { headers: { host } });
      expect(executionOf(answer).success).toBe(true);
    }
  });

  test("a unix socket can be used only by this user, and is removed when the executor closes", async () => {
    const folder = await createFolder();
    const path = join(folder, "executor.sock");
    const executor = await startExecutor([new CountingTool().tool], { listen: `unix:${path}` });
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(executor.address).toBe(`unix:${path}`);
    const answer = await dispatch(executor, dispatchBody({ name: "count" }), {
      headers: { host: "localhost" },
    });
    expect(executionOf(answer).success).toBe(true);
    await executor.close();
    expect(await readdir(folder)).toEqual([]);
  });

  test("an executor replaces a stale socket, but neither one that is in use nor any other file", async () => {
    const folder = await createFolder();
    const path = join(folder, "executor.sock");
    // A socket whose server has closed without removing it.
    const dead = createServer().listen(join(folder, "dead"));
    await once(dead, "listening");
    const { rename } = await import("node:fs/promises");
    await rename(join(folder, "dead"), path);
    dead.close();
    await once(dead, "close");
    await startExecutor([], { listen: `unix:${path}` });
    await expect(startExecutor([], { listen: `unix:${path}` })).rejects.toThrow("the address is in use");
    await writeFile(join(folder, "file"), "precious");
    await expect(startExecutor([], { listen: `unix:${join(folder, "file")}` })).rejects.toThrow(
      /not a socket/,
    );
  });

  test("an executor reports that its address is in use", async () => {
    const executor = await startExecutor([]);
    await expect(startExecutor([], { listen: executor.address })).rejects.toThrow("the address is in use");
  });
});

describe("reloading", () => {
  const client = new KeyedClient("me");
  const credentials = { keys: new Map([["me", client.publicKey]]) };
  const policy = new HostPolicy();

  test("a reloaded executor has other tools, and does not accept used signatures again", async () => {
    const executor = await startExecutor([new HeldTool().tool], credentials);
    const body = dispatchBody({ name: "count" });
    const headers = client.sign(executor, body);
    expect(executionOf(await dispatch(executor, body, { headers })).error?.code).toBe("not_found");
    executor.reload({
      registry: new ToolRegistry().register(new CountingTool().tool),
      policy,
      ...credentials,
    });
    expect(problemOf(await dispatch(executor, body, { headers }))).toBe("425 replayed");
    expect(
      executionOf(await client.dispatch(executor, dispatchBody({ id: "2", name: "count" }))).success,
    ).toBe(true);
  });

  test("an executor that others can reach keeps its credentials if it would have none", async () => {
    const executor = await startExecutor([new CountingTool().tool], {
      ...credentials,
      listen: "0.0.0.0:0",
      plainHttp: true,
    });
    expect(() => executor.reload({ registry: new ToolRegistry(), policy })).toThrow(ListenError);
    const address = executor.address.replace("0.0.0.0", "127.0.0.1");
    expect(executionOf(await client.dispatch({ address }, dispatchBody({ name: "count" }))).success).toBe(
      true,
    );
  });
});

test("an executor is not ready while its journal cannot be written", async () => {
  const journal = await openJournal({ directory: await createFolder() });
  const executor = await startExecutor([], { journal });
  const ready = async (): Promise<readonly [number, string]> => {
    const { status, text } = await send(executor, { method: "GET", path: "/readyz" });
    return [status, text];
  };
  expect(await ready()).toEqual([200, "ok\n"]);
  await journal.close();
  expect(await ready()).toEqual([503, "the journal cannot be written\n"]);
});

describe("closing", () => {
  test("an executor accepts calls for a while after its readiness probe fails", async () => {
    const executor = await startExecutor([new CountingTool().tool], { limits: { drainDelayMs: 500 } });
    const probe = async (): Promise<number> =>
      (await send(executor, { method: "HEAD", path: "/readyz" })).status;
    expect(await probe()).toBe(200);
    const closed = executor.close();
    expect(await probe()).toBe(503);
    expect((await send(executor, { method: "HEAD", path: "/healthz" })).status).toBe(200);
    const metrics = await send(executor, { method: "HEAD", path: "/metrics" });
    expect([metrics.status, metrics.text]).toEqual([200, ""]);
    expect(executionOf(await dispatch(executor, dispatchBody({ name: "count" }))).success).toBe(true);
    await closed;
    await expect(probe()).rejects.toThrow(/ECONNREFUSED/);
  });

  test("a closing executor answers the calls that it has accepted, and refuses new connections", async () => {
    const held = new HeldTool();
    const executor = await startExecutor([held.tool], { limits: { drainMs: 5_000 } });
    const answers = Array.from({ length: 20 }, (_, index) =>
      dispatch(executor, dispatchBody({ id: `c${index}`, name: "hold" })),
    );
    const kept = new Client(`http://${executor.address}`);
    onTestFinished(() => kept.destroy());
    const ready = async (): Promise<number> => {
      const { statusCode, body } = await kept.request({ method: "GET", path: "/readyz" });
      await body.dump();
      return statusCode;
    };
    expect(await ready()).toBe(200);
    await until(() => held.started.length === 20);
    const closed = executor.close();
    expect(await ready()).toBe(503);
    await expect(send(executor, { method: "GET", path: "/readyz" })).rejects.toThrow(/ECONNREFUSED/);
    held.releaseAll();
    const executions = (await Promise.all(answers)).map(executionOf);
    expect(executions.map(({ success }) => success)).toEqual(Array(20).fill(true));
    await closed;
  });

  test("a closing executor refuses new calls on open connections", async () => {
    const held = new HeldTool();
    const executor = await startExecutor([held.tool], { limits: { drainMs: 5_000 } });
    const running = dispatch(executor, dispatchBody({ id: "a", name: "hold" }));
    await until(() => held.started.length === 1);
    const socket = connect(Number(executor.address.split(":")[1]), "127.0.0.1");
    await once(socket, "connect");
    // The executor has accepted the connection when it responds on it.
    socket.write(`GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n`);
    await once(socket, "data");
    const closed = executor.close();
    const body = dispatchBody({ id: "b", name: "hold" });
    socket.write(
      `POST /v1/dispatch HTTP/1.1\r\nhost: ${executor.address}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
    let text = "";
    for await (const chunk of socket) text += chunk;
    expect(text).toMatch(/^HTTP\/1\.1 503 /);
    expect(text).toContain('"code":"draining"');
    held.releaseAll();
    expect(executionOf(await running).success).toBe(true);
    await closed;
    expect(held.started).toEqual(["a"]);
  });

  test("a closing executor cancels calls that take too long, and still answers them", async () => {
    const held = new HeldTool();
    const executor = await startExecutor([held.tool], { limits: { drainMs: 50, inFlight: 1 } });
    const running = dispatch(executor, dispatchBody({ id: "a", name: "hold" }));
    await until(() => held.started.length === 1);
    const waiting = dispatch(executor, dispatchBody({ id: "b", name: "hold" }));
    while (!(await send(executor, { method: "GET", path: "/metrics" })).text.includes("calls_queued 1"));
    await executor.close();
    expect(executionOf(await running).error).toMatchObject({ code: "cancelled", effect: "unknown" });
    expect(problemOf(await waiting)).toBe("503 draining");
    expect(held.started).toEqual(["a"]);
  });
});
