import { expect } from "vitest";
import type { Protocol } from "../../src/protocols/protocol.ts";
import { ProtocolError } from "../../src/protocols/protocol-error.ts";

/** What a protocol says against a message: `pointer reason`. */
export function refusal(protocol: Protocol, message: unknown): string {
  try {
    protocol.read(message);
  } catch (error) {
    expect(error).toBeInstanceOf(ProtocolError);
    const { pointer, reason } = error as ProtocolError;
    return `${pointer} ${reason}`;
  }
  return expect.fail("the message was accepted");
}
