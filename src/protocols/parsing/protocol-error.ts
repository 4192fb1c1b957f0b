import { SandgateError } from "../../base/sandgate-error.ts";

/** Thrown if a message or a stream does not match its format, or exceeds a bound. */
export class ProtocolError extends SandgateError {
  override readonly name = "ProtocolError";
  override readonly code = "invalid_message";
  /** The JSON pointer (RFC 6901) of the invalid value; `""` is the message or event itself. */
  readonly pointer: string;
  /** For example `must be a string`. It repeats nothing from the message. */
  readonly reason: string;
  /** The number of the event in its stream, from 1; `undefined` outside of events. */
  readonly event: number | undefined;

  constructor(pointer: string, reason: string, event?: number) {
    const subject = pointer === "" ? (event === undefined ? "the message" : "it") : pointer;
    super(`${event === undefined ? "" : `event ${event}: `}${subject} ${reason}`);
    this.pointer = pointer;
    this.reason = reason;
    this.event = event;
  }
}
