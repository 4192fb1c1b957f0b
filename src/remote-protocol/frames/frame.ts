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
  /** To the executor: the client does not wait for a call any more. Empty. */
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
