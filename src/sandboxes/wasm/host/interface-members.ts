import type { ServiceError, ServiceReply } from "../../guest-services/service-request.ts";
import { WASI_INTERFACES } from "../interfaces.ts";

/** A component used an interface that was not granted. The model reads `message`. */
export class CapabilityDeniedError extends Error {
  override readonly name = "CapabilityDeniedError";

  constructor(interfaceName: string, member: string) {
    const authority = WASI_INTERFACES.get(interfaceName);
    const isGrantable = authority !== undefined && authority !== "none" && authority !== "ungrantable";
    const needs = isGrantable
      ? `needs the capability '${authority}', which was not granted`
      : "is not available to tools";
    super(`Tool used '${interfaceName}' (${member}), which ${needs}`);
  }
}

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

/**
 * Returns an interface whose functions and resources throw {@link CapabilityDeniedError} when they are used. Importing
 * it does not fail, so that a component starts even if the interface is not granted. Names of resources start with a
 * capital letter.
 *
 * @param known Members that work.
 */
export function deniedInterface(interfaceName: string, known: InterfaceMembers = {}): object {
  return new Proxy(known, {
    get(target, member): unknown {
      if (typeof member === "symbol" || Object.hasOwn(target, member)) return Reflect.get(target, member);
      return /^[A-Z]/.test(member) ? deniedResource(interfaceName, member) : refusal(interfaceName, member);
    },
  });
}

function refusal(interfaceName: string, member: string): () => never {
  return () => {
    throw new CapabilityDeniedError(interfaceName, member);
  };
}

/** A component cannot obtain such a resource, because its constructor and its static functions throw. */
function deniedResource(interfaceName: string, resource: string): object {
  class Denied {
    constructor() {
      throw new CapabilityDeniedError(interfaceName, resource);
    }
  }
  return new Proxy(Denied, {
    get(target, member): unknown {
      if (typeof member === "symbol" || member in target) return Reflect.get(target, member);
      return refusal(interfaceName, `${resource}.${member}`);
    },
  });
}
