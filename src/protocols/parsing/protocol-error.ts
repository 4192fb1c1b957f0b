/** A message or a stream has not the shape of its format, or is larger than any honest one. */
export class ProtocolError extends Error {
  override readonly name = "ProtocolError";
  /** The JSON pointer (RFC 6901) of what is wrong; `""` is the message or the event itself. */
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
