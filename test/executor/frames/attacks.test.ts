import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { Executor } from "../../../src/executor/executor.ts";
import type { ExecutorOptions } from "../../../src/executor/options.ts";
import { FRAME, FRAMES_KEY_HEADER } from "../../../src/remote-protocol/frames/frame.ts";
import { FrameSeals, SealExchange } from "../../../src/remote-protocol/frames/seal.ts";
import { CountingTool, dispatchBody, HeldTool, KeyedClient, startExecutor, until } from "../harness.ts";
import { callFrame, frame, RawClient } from "./raw-client.ts";

function countBody(id: string): string {
  return dispatchBody({ id, name: "count" }, { timeoutMs: 5_000 });
}

async function start(options: Partial<ExecutorOptions> = {}): Promise<{
  readonly executor: Executor;
  readonly counting: CountingTool;
  readonly held: HeldTool;
}> {
  const [counting, held] = [new CountingTool(), new HeldTool()];
  return { executor: await startExecutor([counting.tool, held.tool], options), counting, held };
}

describe("a framed connection", () => {
  test.each<[string, (now: number) => Buffer]>([
    ["an unknown type", () => frame(0x7f, 1)],
    ["a frame for clients", () => frame(FRAME.execution, 1, "x")],
    ["a huge length", () => frame(FRAME.call, 1, "", 0xffff_ffff)],
    ["a call without its head", () => frame(FRAME.call, 1, "{}")],
    ["a deadline that is no number", () => callFrame(1, Number.NaN, countBody("a"))],
    ["a ping with a wrong length", () => frame(FRAME.ping, 0, "x")],
    ["the cancellation of a call that was never sent", () => frame(FRAME.cancel, 5)],
    ["the id 0", (now) => callFrame(0, now + 4_000, countBody("a"))],
    ["an id that is too large", (now) => callFrame(0x8000_0000, now + 4_000, countBody("a"))],
  ])("is closed after %s", async (_case, write) => {
    const { executor, counting } = await start();
    const client = new RawClient(executor);
    client.socket.write(write(await client.hello()));
    expect(await client.violation()).toContain("bad_request");
    expect(counting.calls).toBe(0);
  });

  test("is closed if an id is used again, and its calls are cancelled", async () => {
    const { executor, held } = await start();
    const client = new RawClient(executor);
    const now = await client.hello();
    const body = dispatchBody({ id: "a", name: "hold" }, { timeoutMs: 5_000 });
    client.socket.write(callFrame(7, now + 4_000, body));
    await until(() => held.started.length === 1);
    client.socket.write(callFrame(7, now + 4_000, countBody("b")));
    expect(await client.violation()).toContain("ids of calls must increase");
    await until(() => held.cancelled.length === 1);
  });

  test("carries calls in pieces of any size", async () => {
    const { executor, counting } = await start();
    const client = new RawClient(executor);
    const now = await client.hello();
    const bytes = Buffer.concat([1, 2, 3].map((id) => callFrame(id, now + 4_000, countBody(`c${id}`))));
    for (const byte of bytes) client.socket.write(Buffer.from([byte]));
    await until(() => client.frames.length === 4);
    expect(client.frames.slice(1).map(({ type }) => type)).toEqual(Array(3).fill(FRAME.execution));
    expect(counting.calls).toBe(3);
  });

  test("runs no call whose deadline has passed, or is later than its timeout", async () => {
    const { executor, counting } = await start();
    const client = new RawClient(executor);
    const now = await client.hello();
    client.socket.write(callFrame(1, now - 1, countBody("a")));
    client.socket.write(callFrame(2, now + 3_600_000, countBody("b")));
    await until(() => client.frames.length === 3);
    const codes = client.frames
      .slice(1)
      .map(({ payload }) => JSON.parse(payload.toString("utf8", 4)).error.code);
    expect(codes.sort()).toEqual(["deadline_passed", "expired"]);
    expect(counting.calls).toBe(0);
  });

  test("runs no call that is cancelled in the same chunk", async () => {
    const { executor, counting } = await start();
    const client = new RawClient(executor);
    const now = await client.hello();
    client.socket.write(Buffer.concat([callFrame(1, now + 4_000, countBody("a")), frame(FRAME.cancel, 1)]));
    client.socket.write(callFrame(2, now + 4_000, countBody("b")));
    await until(() => client.frames.length === 2);
    expect(client.frames[1]?.id).toBe(2);
    expect(counting.calls).toBe(1);
  });

  test("is closed if there are too many calls at once", async () => {
    const { executor } = await start({ limits: { inFlight: 1, queued: 10_000 } });
    const client = new RawClient(executor);
    const now = await client.hello();
    const calls = Array.from({ length: 10_000 }, (_, n) =>
      callFrame(n + 1, now + 4_000, dispatchBody({ id: `${n}`, name: "hold" }, { timeoutMs: 5_000 })),
    );
    client.socket.write(Buffer.concat(calls));
    expect(await client.violation()).toContain("4096 calls at once");
  });

  test("is closed if a frame does not arrive in time", async () => {
    const { executor } = await start({ limits: { requestMs: 300 } });
    const client = new RawClient(executor);
    await client.hello();
    client.socket.write(frame(FRAME.call, 1, "x", 4_000_000));
    await until(() => client.isClosed);
  });

  test("ends its calls if the client closes its half", async () => {
    const { executor, held } = await start();
    const client = new RawClient(executor);
    const now = await client.hello();
    client.socket.write(callFrame(1, now + 4_000, dispatchBody({ name: "hold" }, { timeoutMs: 5_000 })));
    await until(() => held.started.length === 1);
    client.socket.end();
    await until(() => held.cancelled.length === 1);
  });
});

describe("the upgrade to a framed connection", () => {
  test("is refused without credentials, from a web page and for another host", async () => {
    const { executor } = await start({ token: "a token of some length" });
    const statusWith = async (headers: Record<string, string>): Promise<string | undefined> => {
      const client = new RawClient(executor, headers);
      await until(() => client.isClosed);
      return client.head.split(" ")[1];
    };
    expect(await statusWith({})).toBe("401");
    expect(await statusWith({ authorization: "Bearer wrong" })).toBe("401");
    expect(await statusWith({ origin: "http://page.example" })).toBe("421");
    expect(await statusWith({ host: "other.example" })).toBe("421");
  });

  test("is accepted once for each signature, and its copy cannot send calls", async () => {
    const caller = new KeyedClient("agent");
    const { executor, counting } = await start({ keys: new Map([["agent", caller.publicKey]]) });
    const exchange = new SealExchange();
    const headers = caller.signUpgrade(executor, exchange.publicKey);
    const client = new RawClient(executor, headers);
    const now = await client.hello();
    const replayed = new RawClient(executor, headers);
    await until(() => replayed.isClosed);
    expect(replayed.head).toMatch(/^HTTP\/1\.1 425 /);
    const other = new RawClient(executor, { ...headers, [FRAMES_KEY_HEADER]: new SealExchange().publicKey });
    await until(() => other.isClosed);
    expect(other.head).toMatch(/^HTTP\/1\.1 422 /);
    const [, peer = ""] = /sandgate-frames-key: (\S+)/.exec(client.head) ?? [];
    const seals = new FrameSeals(exchange.derive(peer, headers["signature"] ?? "", "client") as Buffer);
    const sealed = (bytes: Buffer): Buffer => {
      const whole = Buffer.concat([bytes, Buffer.alloc(seals.bytes)]);
      seals.seal(bytes, whole, bytes.length);
      return whole;
    };
    const first = sealed(callFrame(1, now + 4_000, countBody("a")));
    client.socket.write(first);
    await until(() => counting.calls === 1);
    // A late call is refused by the signed expiry, whatever the executor's clock was said to be.
    client.socket.write(sealed(callFrame(2, now + 4_000, countBody("b"), Date.now() - 60_000)));
    await until(() => client.frames.some(({ type }) => type === FRAME.problem));
    client.socket.write(Buffer.concat([callFrame(3, now + 4_000, countBody("c")), Buffer.alloc(16)]));
    expect(await client.violation()).toContain("seal is wrong");
    expect(counting.calls).toBe(1);
  });

  test("is ignored for other protocols: the request is answered over HTTP", async () => {
    const { executor } = await start();
    const client = new RawClient(executor, { upgrade: "h2c" });
    await until(() => client.head !== "");
    expect(client.head).toMatch(/^HTTP\/1\.1 404 /);
  });

  test("leaves no connection behind if the client is gone before its answer", async () => {
    const { executor, counting } = await start();
    const clients = Array.from({ length: 200 }, () => new RawClient(executor));
    for (const { socket } of clients) socket.resetAndDestroy();
    await sleep(50);
    const client = new RawClient(executor);
    client.socket.write(callFrame(1, (await client.hello()) + 4_000, countBody("a")));
    await until(() => counting.calls === 1);
  });

  test("leads to connections that an executor closes when it shuts down", async () => {
    const { executor } = await start();
    const client = new RawClient(executor);
    await client.hello();
    const closed = once(client.socket, "close");
    await executor.close();
    await closed;
    expect(client.frames.at(-1)?.type).toBe(FRAME.goAway);
  });
});
