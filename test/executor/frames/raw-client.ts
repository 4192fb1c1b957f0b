import { connect, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import type { Executor } from "../../../src/executor/executor.ts";
import { FRAME, FRAMES_PROTOCOL, writeCallHead } from "../../../src/remote-protocol/frames/frame.ts";
import { FrameReader } from "../../../src/remote-protocol/frames/frame-reader.ts";
import { until } from "../harness.ts";

/** A client that sends any bytes. */
export class RawClient {
  readonly socket: Socket;
  readonly frames: { readonly type: number; readonly id: number; readonly payload: Buffer }[] = [];
  head = "";
  isClosed = false;

  /** @param change Returns what is sent instead of the request for the upgrade. */
  constructor(
    { address }: Pick<Executor, "address">,
    headers: Record<string, string> = {},
    change: (upgrade: string) => string = (upgrade) => upgrade,
  ) {
    const { hostname, port } = new URL(`http://${address}`);
    this.socket = connect(Number(port), hostname);
    onTestFinished(() => void this.socket.destroy());
    this.socket.on("error", () => {}).on("close", () => (this.isClosed = true));
    const all = { host: address, connection: "upgrade", upgrade: FRAMES_PROTOCOL, ...headers };
    const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
    this.socket.write(change(`GET /v1/frames HTTP/1.1\r\n${lines.join("")}\r\n`));
    const reader = new FrameReader({
      admit: () => true,
      reserve: () => true,
      release: () => {},
      take: (type, id, payload) => void this.frames.push({ type, id, payload: Buffer.from(payload) }),
    });
    this.socket.on("data", (chunk: Buffer) => {
      if (this.head !== "") return reader.push(chunk);
      const end = chunk.indexOf("\r\n\r\n") + 4;
      this.head = chunk.toString("latin1", 0, end);
      if (this.head.startsWith("HTTP/1.1 101")) reader.push(chunk.subarray(end));
    });
  }

  /** Waits for the executor's first frame, and returns its clock. */
  async hello(): Promise<number> {
    await until(() => this.frames.length > 0);
    return JSON.parse(String(this.frames[0]?.payload)).now;
  }

  /** Waits until the executor closes the connection, and returns the problem that it has told. */
  async violation(): Promise<string> {
    await until(() => this.isClosed);
    const last = this.frames.at(-1);
    return last?.type === FRAME.goAway ? last.payload.toString("utf8", 4) : "";
  }
}

/** Writes a frame, with another length than that of its payload if one is given. */
export function frame(type: number, id: number, payload: Buffer | string = "", length?: number): Buffer {
  const bytes = Buffer.from(payload);
  const header = Buffer.alloc(9);
  header.writeUInt32BE(length ?? bytes.length);
  header.writeUInt8(type, 4);
  header.writeUInt32BE(id, 5);
  return Buffer.concat([header, bytes]);
}

/** Writes the frame of a call. */
export function callFrame(
  id: number,
  deadline: number,
  body: string,
  expiresAt: number = Date.now() + 5_000,
): Buffer {
  const head = writeCallHead({ isStreamed: false, deadline, expiresAt, trace: undefined });
  return frame(FRAME.call, id, Buffer.concat([head, Buffer.from(body)]));
}
