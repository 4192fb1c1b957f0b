import { createServer, type Server, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { FRAME, FRAMES_PROTOCOL } from "../../../../../src/remote-protocol/frames/frame.ts";
import { FrameReader } from "../../../../../src/remote-protocol/frames/frame-reader.ts";
import { openSandboxes, type Sandboxes } from "../../../../../src/sandboxes/open-sandboxes.ts";
import { frame } from "../../../../executor/frames/raw-client.ts";
import { until } from "../../../../executor/harness.ts";
import { callOn } from "../setting.ts";

const HELLO = { process: "0".repeat(32), now: 0, calls: 100, bodyBytes: 4_194_304, idleMs: 60_000 };

/** A call that a peer received in a frame. */
interface SeenCall {
  readonly frameId: number;
  readonly call: { readonly id: string; readonly name: string; readonly arguments: unknown };
}

/** A peer that accepts framed connections, and sends any frames. Calls over HTTP are not answered. */
class FramingPeer {
  /** The open connections. */
  readonly sockets: Socket[] = [];
  readonly seen: SeenCall[] = [];
  readonly types: number[] = [];
  upgrades = 0;
  httpCalls = 0;
  onCall: (socket: Socket, seen: SeenCall) => void = () => {};
  /** Sent after the response to the upgrade. */
  first: () => Buffer = () => frame(FRAME.hello, 0, JSON.stringify({ ...HELLO, now: performance.now() }));
  readonly #server: Server = createServer((socket) => this.#serve(socket));

  async start(): Promise<string> {
    await new Promise<void>((listening) => this.#server.listen(0, "127.0.0.1", listening));
    onTestFinished(() => {
      for (const socket of this.sockets) socket.destroy();
      this.#server.close();
    });
    return `http://127.0.0.1:${(this.#server.address() as { readonly port: number }).port}`;
  }

  #serve(socket: Socket): void {
    socket.on("error", () => {});
    this.sockets.push(socket);
    const reader = new FrameReader({
      admit: () => true,
      reserve: () => true,
      release: () => {},
      take: (type, id, payload) => {
        this.types.push(type);
        if (type !== FRAME.call) return;
        const { call } = JSON.parse(payload.toString("utf8", 19 + payload.readUInt16BE(17)));
        const seen = { frameId: id, call };
        this.seen.push(seen);
        this.onCall(socket, seen);
      },
    });
    let isFramed = false;
    socket.on("data", (chunk: Buffer) => {
      if (isFramed) reader.push(chunk);
      else if (chunk.toString("latin1").startsWith("GET /v1/frames")) {
        isFramed = true;
        this.upgrades++;
        const head = `HTTP/1.1 101 X\r\nconnection: upgrade\r\nupgrade: ${FRAMES_PROTOCOL}\r\n\r\n`;
        socket.write(Buffer.concat([Buffer.from(head), this.first()]));
      } else {
        this.httpCalls++;
        // A call is asked for over HTTP after its connection was lost.
        if (this.upgrades > 0) socket.end("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n");
      }
    });
  }
}

/** Writes the answer of an honest executor. */
function answer({ frameId, call }: SeenCall, output = "done"): Buffer {
  const execution = {
    callId: call.id,
    toolName: call.name,
    arguments: call.arguments,
    success: true,
    output,
    durationMs: 1,
    sandbox: "host",
    receipt: { enforced: { wallTimeMs: 1, outputBytes: 1 }, used: { wallTimeMs: 1 } },
  };
  return frame(
    FRAME.execution,
    frameId,
    Buffer.concat([Buffer.from([0]), Buffer.from(JSON.stringify(execution))]),
  );
}

/** Starts a peer, and waits until a client has a framed connection to it. */
async function framed(): Promise<{ peer: FramingPeer; url: string; sandboxes: Sandboxes }> {
  const peer = new FramingPeer();
  const url = await peer.start();
  const sandboxes = await openSandboxes({ remote: { frames: true }, workers: { maxWaitMs: 300 } });
  onTestFinished(() => sandboxes.close());
  await callOn(url, "tool", sandboxes, { limits: { wallTimeMs: 200 } });
  expect([peer.upgrades, peer.httpCalls]).toEqual([1, 1]);
  return { peer, url, sandboxes };
}

describe("a hostile executor with framed connections", () => {
  test.each<[string, (seen: SeenCall) => Buffer, string]>([
    [
      "an answer of a huge length",
      ({ frameId }) => frame(FRAME.execution, frameId, "x", 0xffff_ffff),
      "limit_exceeded",
    ],
    [
      "an answer to a call that was never sent",
      ({ frameId }) => frame(FRAME.execution, frameId + 1, "x"),
      "execution_error",
    ],
    [
      "an answer that is no JSON",
      ({ frameId }) => frame(FRAME.execution, frameId, "\0nothing"),
      "execution_error",
    ],
    ["an empty answer", ({ frameId }) => frame(FRAME.execution, frameId), "execution_error"],
    ["a problem that is too short", ({ frameId }) => frame(FRAME.problem, frameId, "x"), "execution_error"],
    ["a frame of an unknown type", ({ frameId }) => frame(0x7f, frameId, "x"), "execution_error"],
    ["a long frame about the connection", () => frame(FRAME.goAway, 0, "", 1_000_000), "execution_error"],
    ["another hello", () => frame(FRAME.hello, 0, JSON.stringify(HELLO)), "execution_error"],
    ["a pong without a ping", () => frame(FRAME.pong, 0, Buffer.alloc(16)), "execution_error"],
    [
      "the execution of another call",
      (seen) => answer({ ...seen, call: { ...seen.call, id: "other" } }),
      "execution_error",
    ],
  ])("cannot make a call succeed with %s", async (_case, write, code) => {
    const { peer, url, sandboxes } = await framed();
    peer.onCall = (socket, seen) => void socket.write(write(seen));
    const { error } = await callOn(url, "tool", sandboxes, { limits: { wallTimeMs: 5_000 } });
    expect(error).toMatchObject({ code, effect: "unknown" });
  });

  test("can answer each call once only", async () => {
    const { peer, url, sandboxes } = await framed();
    peer.onCall = (socket, seen) =>
      void socket.write(
        Buffer.concat([answer(seen, "first"), answer(seen, "second"), answer(seen, "third")]),
      );
    for (let n = 0; n < 3; n++) {
      expect((await callOn(url, "tool", sandboxes)).output).toBe("first");
    }
    expect(peer.upgrades).toBe(1);
  });

  test("is held to the time limit although it never stops streaming", async () => {
    const { peer, url, sandboxes } = await framed();
    peer.onCall = (socket, { frameId }) => {
      const log = frame(FRAME.log, frameId, JSON.stringify({ level: "info", message: "x".repeat(100) }));
      const logs = Buffer.concat(Array<Buffer>(500).fill(log));
      const write = (): void => {
        while (!socket.destroyed && socket.write(logs));
      };
      socket.on("drain", write);
      write();
    };
    const { error } = await callOn(url, "tool", sandboxes, { limits: { wallTimeMs: 500 } });
    expect(error).toMatchObject({ code: "timeout", effect: "unknown" });
    await until(() => peer.types.includes(FRAME.cancel));
  });

  test("is given time for a call that waits for its turn", async () => {
    const { peer, url, sandboxes } = await framed();
    peer.onCall = (socket, seen) => {
      socket.write(frame(FRAME.waiting, seen.frameId));
      setTimeout(() => socket.write(answer(seen)), 400);
    };
    expect((await callOn(url, "tool", sandboxes, { limits: { wallTimeMs: 200 } })).output).toBe("done");
  });

  test("is given up although it never stops to say that a call waits for its turn", async () => {
    const { peer, url, sandboxes } = await framed();
    peer.onCall = (socket, { frameId }) => {
      const frames = Buffer.concat(Array<Buffer>(1_000).fill(frame(FRAME.waiting, frameId)));
      const repeat = setInterval(() => socket.write(frames), 10);
      socket.on("close", () => clearInterval(repeat));
    };
    const { error } = await callOn(url, "tool", sandboxes, { limits: { wallTimeMs: 200 } });
    expect(error).toMatchObject({ code: "timeout", effect: "unknown" });
    await until(() => peer.types.includes(FRAME.cancel));
  });

  test("leaves the effect unknown if it closes the connection within an answer", async () => {
    const { peer, url, sandboxes } = await framed();
    peer.onCall = (socket, seen) => void socket.end(answer(seen).subarray(0, 40));
    const { error, receipt } = await callOn(url, "tool", sandboxes);
    expect(error).toMatchObject({ code: "execution_error", effect: "unknown" });
    expect(receipt.used.bytesDown).toBeLessThan(100);
  });

  test("is not used any more for calls if it does not read, whatever pongs it sends", async () => {
    const { peer, url, sandboxes } = await framed();
    peer.onCall = (socket) => void socket.pause();
    const calls = Array.from({ length: 3 }, () =>
      callOn(url, "tool", sandboxes, { limits: { wallTimeMs: 7_000 } }),
    );
    await until(() => peer.seen.length >= 1);
    await sleep(2_100);
    for (const socket of peer.sockets) socket.write(frame(FRAME.pong, 0, Buffer.alloc(16)));
    const lost = await Promise.all(calls);
    for (const { error } of lost) expect(error?.effect).toBe("unknown");
    // The calls were asked for elsewhere than on the connection that was given up.
    expect(peer.upgrades + peer.httpCalls).toBeGreaterThan(2);
  }, 20_000);
});
