import { expect } from "vitest";
import { ProtocolError } from "../../src/protocols/parsing/shape.ts";
import type { ProviderProtocol } from "../../src/protocols/protocol.ts";

/** Returns a protocol's error for a message: `pointer reason`. */
export function refusal(protocol: ProviderProtocol, message: unknown): string {
  try {
    protocol.read(message);
  } catch (error) {
    expect(error).toBeInstanceOf(ProtocolError);
    const { pointer, reason } = error as ProtocolError;
    return `${pointer} ${reason}`;
  }
  return expect.fail("the message was accepted");
}
