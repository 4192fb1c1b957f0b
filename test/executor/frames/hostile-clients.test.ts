import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { FairBudget } from "../../../src/base/fair-budget.ts";
import { ToolRegistry } from "../../../src/engine/registry.ts";
import { defineTool, type Tool } from "../../../src/engine/tool.ts";
// Inside: gives a connection 4 MiB for unread answers, so that they pile up soon, and sees when it is closed.
import { FrameConnection } from "../../../src/executor/frames/frame-connection.ts";
import { completeLimits } from "../../../src/executor/limits.ts";
import { Dispatcher } from "../../../src/executor/once/dispatcher.ts";
import { HostPolicy } from "../../../src/policy/policy.ts";
import { FRAME } from "../../../src/remote-protocol/frames/frame.ts";
import { FrameSeals, SealExchange } from "../../../src/remote-protocol/frames/seal.ts";
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import {
  CountingTool,
  dispatch,
  dispatchBody,
  executionOf,
  HeldTool,
  KeyedClient,
  startExecutor,
  until,
} from "../harness.ts";
import { callFrame, frame, RawClient } from "./raw-client.ts";

const MIB = 1_024 * 1_024;

/** Returns a text of 1 MiB. */
const large = defineTool({
  name: "large",
  description: "Returns a long text.",
  inputSchema: { type: "object" },
  host: () => "x".repeat(MIB),
});

/** Returns a body of a call. Its client waits for 20 s. */
function body(id: string, name: string): string {
  return dispatchBody({ id, name }, { timeoutMs: 20_000 });
}

/** Connects to a framed connection of its own, with the memory for what its client has not read. */
async function connectTo(tools: readonly Tool[], unread: FairBudget, caller = "") {
  const [server, client] = await pair();
  const registry = new ToolRegistry();
  for (const tool of tools) registry.register(tool);
  const sandboxes = await openSandboxes();
  const dispatcher = new Dispatcher({ registry, policy: new HostPolicy(), sandboxes }, completeLimits());
  const told: unknown[] = [];
  const sender = { caller, credential: "", principal: undefined, isSigned: false };
  const services = {
    dispatcher,
    unread,
    bodies: new FairBudget(MIB, MIB),
    requestMs: 30_000,
    bounds: { process: dispatcher.processId, calls: 100, bodyBytes: 65_536, idleMs: 60_000 },
    checkSender: () => {},
    reportProblem: (thrown: unknown) => void told.push(thrown),
  };
  const connection = new FrameConnection(server, sender, services, undefined);
  onTestFinished(() => connection.destroy());
  return { server, client, connection, told };
}

/** Returns the frames of calls. */
function callsOf(count: number, name: string): Buffer {
  const deadline = performance.now() + 19_000;
  return Buffer.concat(
    Array.from({ length: count }, (_, n) => callFrame(n + 1, deadline, body(`${n}`, name))),
  );
}

/** Returns both ends of a connection. */
async function pair(): Promise<readonly [Socket, Socket]> {
  const listener = createServer().listen(0, "127.0.0.1");
  await once(listener, "listening");
  const accepted = once(listener, "connection") as Promise<[Socket]>;
  const client = connect((listener.address() as AddressInfo).port, "127.0.0.1");
  const [server] = await accepted;
  onTestFinished(() => {
    client.destroy();
    server.destroy();
    listener.close();
  });
  return [server, client];
}

describe("a client of a framed connection that reads slowly", () => {
  test("is disconnected if it reads a little again and again while its answers pile up", async () => {
    const { client } = await connectTo([large], new FairBudget(4 * MIB, MIB));
    let read = 0;
    let isClosed = false;
    client.on("data", (chunk: Buffer) => {
      read += chunk.length;
      if (read % MIB < chunk.length) client.pause();
    });
    client.on("close", () => {
      isClosed = true;
    });
    client.write(callsOf(100, "large"));
    const reading = setInterval(() => client.resume(), 150);
    await until(() => isClosed || read > 60 * MIB);
    clearInterval(reading);
    expect(read).toBeLessThan(60 * MIB);
  }, 30_000);

  test("has a bounded memory for answers together with all others, of which each caller has a part", async () => {
    const unread = new FairBudget(12 * MIB, 2 * MIB);
    const callers = ["alice", "bob", "carol", "dave"];
    const all = await Promise.all(callers.map((caller) => connectTo([large], unread, caller)));
    for (const { client } of all) client.pause().write(callsOf(20, "large"));
    // None of them takes 20 answers: they are disconnected at their part.
    await until(() => all.every(({ server }) => server.destroyed));
    expect(unread.acquire("erin", 12 * MIB)).toBe(true);
    unread.release("erin", 12 * MIB);
    const other = await connectTo([large], unread, "erin");
    let read = 0;
    other.client.on("data", (chunk: Buffer) => {
      read += chunk.length;
    });
    other.client.write(callsOf(8, "large"));
    await until(() => read > 8 * MIB);
    expect(other.server.destroyed).toBe(false);
  });

  test("gets all of its answers if it is slow for a moment only", async () => {
    const executor = await startExecutor([large], { limits: { bodyBytes: 65_536 } });
    const client = new RawClient(executor);
    const now = await client.hello();
    client.socket.pause();
    const calls = Array.from({ length: 10 }, (_, n) => callFrame(n + 1, now + 19_000, body(`${n}`, "large")));
    client.socket.write(Buffer.concat(calls));
    await new Promise((resolve) => setTimeout(resolve, 100));
    client.socket.resume();
    await until(() => client.isClosed || client.frames.length === 11);
    expect(client.frames.length).toBe(11);
  }, 30_000);

  test("does not keep the executor from shutting down", async () => {
    const executor = await startExecutor([large], { limits: { drainMs: 200 } });
    const client = new RawClient(executor);
    const now = await client.hello();
    client.socket.pause();
    const calls = Array.from({ length: 10 }, (_, n) => callFrame(n + 1, now + 19_000, body(`${n}`, "large")));
    client.socket.write(Buffer.concat(calls));
    await new Promise((resolve) => setTimeout(resolve, 100));
    await executor.close();
    client.socket.resume();
    await until(() => client.isClosed);
  });

  test("can send pings only as it reads the answers", async () => {
    const counting = new CountingTool();
    const executor = await startExecutor([counting.tool]);
    const client = new RawClient(executor);
    await client.hello();
    client.socket.pause();
    const pings = Buffer.concat(Array<Buffer>(10_000).fill(frame(FRAME.ping, 0, "12345678")));
    for (let sent = 0; sent < 400; sent++) client.socket.write(pings);
    await new Promise((resolve) => setTimeout(resolve, 500));
    // The rest of the 68 MB waits at the client.
    expect(client.socket.writableLength).toBeGreaterThan(30 * MIB);
    expect(executionOf(await dispatch(executor, body("a", "count"))).success).toBe(true);
  });
});

describe("a client of a framed connection", () => {
  test("gets the answers to its sealed calls although the executor drops a later one", async () => {
    const caller = new KeyedClient("agent");
    const held = new HeldTool();
    const executor = await startExecutor([held.tool], {
      keys: new Map([["agent", caller.publicKey]]),
      limits: { drainMs: 5_000 },
    });
    const exchange = new SealExchange();
    const headers = caller.signUpgrade(executor, exchange.publicKey);
    const client = new RawClient(executor, headers);
    const now = await client.hello();
    const [, peer = ""] = /sandgate-frames-key: (\S+)/.exec(client.head) ?? [];
    const seals = new FrameSeals(exchange.derive(peer, headers["signature"] ?? "", "client") as Buffer);
    const send = (bytes: Buffer): void => {
      const whole = Buffer.concat([bytes, Buffer.alloc(seals.bytes)]);
      seals.seal(bytes, whole, bytes.length);
      client.socket.write(whole);
    };
    send(callFrame(1, now + 10_000, body("a", "hold")));
    await until(() => held.started.length === 1);
    const closed = executor.close();
    await until(() => client.frames.some(({ type }) => type === FRAME.goAway));
    send(callFrame(2, now + 10_000, body("b", "hold")));
    send(frame(FRAME.ping, 0, "12345678"));
    await until(() => client.isClosed || client.frames.some(({ type }) => type === FRAME.pong));
    held.releaseAll();
    await closed;
    expect(client.frames.map(({ type }) => type)).toContain(FRAME.execution);
    expect(held.started).toEqual(["a"]);
  });

  test("can neither cancel nor read the calls of another one", async () => {
    const held = new HeldTool();
    const tokens = [
      { id: "alice", token: "the-token-of-alice" },
      { id: "mallory", token: "the-token-of-mallory" },
    ] as const;
    const executor = await startExecutor([held.tool], { tokens });
    const [alice, mallory, other] = [tokens[0], tokens[1], tokens[1]].map(
      ({ token }) => new RawClient(executor, { authorization: `Bearer ${token}` }),
    ) as [RawClient, RawClient, RawClient];
    const now = await alice.hello();
    await Promise.all([mallory.hello(), other.hello()]);
    alice.socket.write(callFrame(1, now + 10_000, body("a", "hold")));
    await until(() => held.started.length === 1);
    // The same id, session and arguments are another caller's another call.
    mallory.socket.write(callFrame(1, now + 10_000, body("a", "hold")));
    await until(() => held.started.length === 2);
    mallory.socket.write(frame(FRAME.cancel, 1));
    other.socket.write(frame(FRAME.cancel, 1));
    expect(await other.violation()).toContain("an unknown call was cancelled");
    await until(() => held.cancelled.length === 1);
    held.releaseAll();
    await until(() => alice.frames.length === 2);
    expect(alice.frames[1]).toMatchObject({ type: FRAME.execution, id: 1 });
    expect(mallory.frames).toHaveLength(1);
  });

  test("is closed when it is idle, even if its last call was refused", async () => {
    const { client, connection, told } = await connectTo([], new FairBudget(MIB, MIB));
    client.write(callFrame(1, performance.now() + 5_000, "not a body"));
    await until(() => told.length === 1);
    const closed = once(client.resume(), "close");
    connection.checkTimes(performance.now() + 61_000);
    connection.checkTimes(performance.now() + 62_000);
    await closed;
  });

  test("whose credential is revoked has no further calls, and is disconnected after its last one", async () => {
    const [counting, held] = [new CountingTool(), new HeldTool()];
    const executor = await startExecutor([counting.tool, held.tool], { token: "the-first-token-of-all" });
    const client = new RawClient(executor, { authorization: "Bearer the-first-token-of-all" });
    const spare = new RawClient(executor, { authorization: "Bearer the-first-token-of-all" });
    const now = await client.hello();
    await spare.hello();
    client.socket.write(callFrame(1, now + 10_000, body("a", "hold")));
    await until(() => held.started.length === 1);
    const registry = new ToolRegistry().register(counting.tool).register(held.tool);
    executor.reload({ registry, policy: new HostPolicy(), token: "the-second-token-of-all" });
    client.socket.write(callFrame(2, now + 10_000, body("b", "count")));
    await until(() => client.frames.length === 2);
    expect(client.frames[1]?.payload.toString("utf8", 4)).toContain("unauthenticated");
    await until(() => spare.isClosed);
    held.releaseAll();
    await until(() => client.isClosed);
    expect(client.frames.find(({ type }) => type === FRAME.execution)?.id).toBe(1);
    expect(counting.calls).toBe(0);
  }, 10_000);

  test("gets no frames while an earlier request on the connection has no response", async () => {
    const held = new HeldTool();
    const executor = await startExecutor([held.tool]);
    const dispatched = body("a", "hold");
    const client = new RawClient(executor, {}, (upgrade) => {
      const headers = `host: ${executor.address}\r\ncontent-type: application/json`;
      const length = `content-length: ${dispatched.length}`;
      return `POST /v1/dispatch HTTP/1.1\r\n${headers}\r\n${length}\r\n\r\n${dispatched}${upgrade}`;
    });
    await until(() => client.isClosed);
    expect(client.head).toBe("");
  });

  test("gets no frames if its request has a body", async () => {
    const executor = await startExecutor([new CountingTool().tool]);
    const client = new RawClient(executor, { "content-length": "17" });
    client.socket.write(frame(FRAME.ping, 0, "12345678"));
    await until(() => client.isClosed);
    expect(client.head).toMatch(/^HTTP\/1\.1 400 /);
  });

  test("cannot have more than 1,000 connections, and gets a place again when it closes some", async () => {
    const executor = await startExecutor([new CountingTool().tool]);
    const clients = Array.from({ length: 1_200 }, () => new RawClient(executor));
    await until(() => clients.every(({ head }) => head !== ""));
    const statuses = clients.map(({ head }) => head.split(" ")[1]);
    expect(statuses.filter((status) => status === "101")).toHaveLength(1_000);
    expect(statuses.filter((status) => status === "429")).toHaveLength(200);
    for (const { socket } of clients) socket.destroy();
    for (;;) {
      const late = new RawClient(executor);
      await until(() => late.head !== "");
      if (late.head.startsWith("HTTP/1.1 101")) break;
    }
  }, 30_000);
});
