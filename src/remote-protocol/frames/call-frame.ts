import { readTraceHeaders, type TraceHeaders } from "../../base/trace-headers.ts";
import { FrameError } from "./frame.ts";

/** What a frame with a call has in addition to the body of a dispatch request. */
export interface CallFrameHead {
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

/** The most bytes that a frame with a call has in addition to the body. */
export const CALL_HEAD_BYTES: number = FIXED_BYTES + MAX_TRACE_BYTES;

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
