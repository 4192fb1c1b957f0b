import { isProcessId } from "../process-stamp.ts";
import { FrameError } from "./frame.ts";

/** What an executor tells first on a framed connection. */
export interface Hello {
  /** Identifies one start of the executor: 32 hexadecimal digits. */
  readonly process: string;
  /** The executor's clock, in ms. Deadlines of calls are on this clock. It does not follow the time of day. */
  readonly now: number;
  /** The most calls that the connection may have at once. */
  readonly calls: number;
  /** The largest body of a call, in bytes. */
  readonly bodyBytes: number;
  /** Milliseconds after which the executor closes a connection without calls. */
  readonly idleMs: number;
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
