import type { ServiceError, ServiceReply } from "../../guest-services/service-request.ts";

/** A component called a function of the host in a way that ends its call. The model reads `message`. */
export class MisuseError extends Error {
  override readonly name = "MisuseError";

  /**
   * @param interfaceName The interface without its version, such as `wasi:random/random`.
   * @param problem What the component did, and what is allowed.
   */
  constructor(interfaceName: string, problem: string) {
    super(`Tool misused '${interfaceName}': ${problem}`);
  }
}

/** The members of a host interface by name: functions in camel case, resources as classes. */
export type InterfaceMembers = Readonly<Record<string, unknown>>;

/**
 * Checks that a component passed a `list<u8>`. The component declares its own types, so another value can arrive here;
 * that ends the call. `Uint8Array.from` would take a record with a `length`, and allocate bytes that nothing counts.
 */
export function requireBytes(value: unknown, interfaceName: string): Uint8Array {
  if (value instanceof Uint8Array) return value;
  throw new MisuseError(interfaceName, "it passed a value that is no list of bytes");
}

/**
 * Returns the value of a reply. Throws its error in the form of `wit/tool.wit`, which the ABI passes to the component
 * as the `err` of a result.
 */
export function okOrThrow<Value>(reply: ServiceReply<Value, ServiceError>): Value {
  if ("ok" in reply) return reply.ok;
  const { code, message } = reply.error;
  throw { code: code.replaceAll("_", "-"), message: message.toWellFormed() };
}
