import { readTraceHeaders, type TraceHeaders } from "../../base/trace-headers.ts";
import { isProcessId } from "../http.ts";

/** What a frame with a call has in addition to the body of a dispatch request. */
interface CallFrameHead {
  /** Whether the client wants the chunks and log lines of the call. */
  readonly isStreamed: boolean;
  /** When the client stops waiting, in ms on the executor's clock: see `Hello.now`. The call must not start later. */
  readonly deadline: number;
  /** The same in ms since the epoch, on the client's clock. It counts on signed connections. */
  readonly expiresAt: number;
  /** The trace that the call belongs to. */
  readonly trace: TraceHeaders | undefined;
}

/** A frame with a call. */
export interface CallFrame extends CallFrameHead {
  /** The body of a dispatch request, as UTF-8. */
  readonly body: Buffer;
}

/** Flags (1 byte), `deadline` and `expiresAt` (doubles), and the length of the trace (2 bytes). */
const FIXED_BYTES = 19;

const STREAMED = 1;

/** The longest trace in a frame: that of its headers as JSON. */
const MAX_TRACE_BYTES = 2_048;

/** Maximum number of bytes that a frame with a call has in addition to the body. */
export const CALL_HEAD_BYTES: number = FIXED_BYTES + MAX_TRACE_BYTES;

/** The first message of an executor on a framed connection. */
export interface Hello {
  /** Identifies one start of the executor: 32 hexadecimal digits. */
  readonly process: string;
  /** The executor's clock, in ms. Deadlines of calls are on this clock. It does not follow the time of day. */
  readonly now: number;
  /** Maximum number of calls that the connection may have at once. */
  readonly calls: number;
  /** The largest body of a call, in bytes. */
  readonly bodyBytes: number;
  /** Milliseconds after which the executor closes a connection without calls. */
  readonly idleMs: number;
}

/** The value of the header `upgrade` that asks for a framed connection. */
export const FRAMES_PROTOCOL = "sandgate-frames/1";

/** `GET`, with `upgrade`: turns the connection into a framed one. */
export const FRAMES_PATH = "/v1/frames";

/** The header with an end's public X25519 key, as 32 bytes in base64url. Only signed connections have it. */
export const FRAMES_KEY_HEADER = "sandgate-frames-key";

/**
 * A frame is a header of 9 bytes, a payload and, in the direction to the executor on a signed connection, a seal. The
 * header has the length of the payload (4 bytes), the type (1) and the id of the call (4), or 0 if the frame is about the
 * connection. Numbers are big-endian.
 */
export const FRAME_HEADER_BYTES = 9;

type FrameName =
  | "call"
  | "cancel"
  | "ping"
  | "hello"
  | "execution"
  | "problem"
  | "output"
  | "log"
  | "pong"
  | "goAway"
  | "waiting";

/** The types of frames. */
export const FRAME: Readonly<Record<FrameName, number>> = Object.freeze({
  /** To the executor: a call. See `call-frame.ts`. */
  call: 0x01,
  /** To the executor: the client no longer waits for a call. Empty. */
  cancel: 0x02,
  /** To the executor: 8 bytes that the executor returns. */
  ping: 0x03,
  /** To the client, first: a `Hello` as JSON. */
  hello: 0x10,
  /** To the client: one byte, 1 if the execution is that of an earlier request, and the execution as JSON. */
  execution: 0x11,
  /** To the client: milliseconds after which the call may be sent again (4 bytes), and a problem as JSON. */
  problem: 0x12,
  /** To the client: `{"chunk"}`. */
  output: 0x13,
  /** To the client: `{"level", "message"}`. */
  log: 0x14,
  /** To the client: the 8 bytes of a ping, and the executor's clock (a double). */
  pong: 0x15,
  /**
   * To the client: the executor accepts no further calls on this connection. The id of the last call that it has accepted
   * (4 bytes) and, as JSON, the problem, if the connection ends at once.
   */
  goAway: 0x16,
  /** To the client: the call waits, or has waited, for its turn, so that its wall time ends later. Empty. */
  waiting: 0x17,
});

/** The largest id of a call. Ids increase, so a connection with it can have no further calls. */
export const MAX_CALL_ID = 0x7fff_ffff;

/** The peer violated the protocol of frames: the connection ends. The message repeats nothing of the peer. */
export class FrameError extends Error {
  override readonly name = "FrameError";
}

/**
 * Reads the first frame of an executor, which is not trusted.
 *
 * @throws {FrameError} if it is malformed.
 */
export function readHello(payload: Buffer): Hello {
  let value: unknown;
  try {
    value = JSON.parse(payload.toString());
  } catch {
    throw new FrameError("the first frame is not JSON");
  }
  if (typeof value !== "object" || value === null) throw new FrameError("the first frame is not an object");
  const { process, ...figures } = value as Record<keyof Hello, unknown>;
  if (typeof process !== "string" || !isProcessId(process))
    throw new FrameError("the first frame names no process");
  // Unknown members belong to a later version of the protocol.
  return {
    process,
    now: figure(figures.now, 0),
    calls: figure(figures.calls, 1),
    bodyBytes: figure(figures.bodyBytes, 1),
    idleMs: figure(figures.idleMs, 1),
  };
}

function figure(value: unknown, least: number): number {
  if (typeof value === "number" && value >= least && value <= Number.MAX_SAFE_INTEGER) return value;
  throw new FrameError("the first frame has an invalid figure");
}

/** Writes what comes before the body of a call. */
export function writeCallHead({ isStreamed, deadline, expiresAt, trace }: CallFrameHead): Buffer {
  const text = trace === undefined ? "" : JSON.stringify(trace);
  const traceBytes = text === "" ? 0 : Buffer.byteLength(text);
  // A trace that is not valid is not passed on over HTTP either.
  const sentBytes = traceBytes > MAX_TRACE_BYTES ? 0 : traceBytes;
  const head = Buffer.allocUnsafe(FIXED_BYTES + sentBytes);
  head.writeUInt8(isStreamed ? STREAMED : 0, 0);
  head.writeDoubleBE(deadline, 1);
  head.writeDoubleBE(expiresAt, 9);
  head.writeUInt16BE(sentBytes, 17);
  if (sentBytes > 0) head.write(text, FIXED_BYTES);
  return head;
}

/**
 * Reads the payload of a call.
 *
 * @throws {FrameError} if it is malformed.
 */
export function readCallFrame(payload: Buffer): CallFrame {
  if (payload.length < FIXED_BYTES) throw new FrameError("a call is too short");
  const flags = payload.readUInt8(0);
  const [deadline, expiresAt] = [payload.readDoubleBE(1), payload.readDoubleBE(9)];
  const bodyAt = FIXED_BYTES + payload.readUInt16BE(17);
  if (flags > STREAMED) throw new FrameError("a call has unknown flags");
  if (!Number.isFinite(deadline) || !Number.isFinite(expiresAt))
    throw new FrameError("a call's deadline is not a number");
  if (bodyAt > Math.min(payload.length, CALL_HEAD_BYTES)) throw new FrameError("a call's trace is too long");
  const trace = bodyAt === FIXED_BYTES ? undefined : readTrace(payload.subarray(FIXED_BYTES, bodyAt));
  return { isStreamed: flags === STREAMED, deadline, expiresAt, trace, body: payload.subarray(bodyAt) };
}

/** Like headers that are not valid, a trace that is not valid is ignored. */
function readTrace(bytes: Buffer): TraceHeaders | undefined {
  try {
    const value: unknown = JSON.parse(bytes.toString());
    if (typeof value !== "object" || value === null) return undefined;
    const { traceparent, tracestate } = value as Record<string, unknown>;
    return readTraceHeaders({
      traceparent: typeof traceparent === "string" ? traceparent : undefined,
      tracestate: typeof tracestate === "string" ? tracestate : undefined,
    });
  } catch {
    return undefined;
  }
}
