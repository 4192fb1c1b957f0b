import { WASI_INTERFACES } from "../interfaces.ts";
import type { InterfaceMembers } from "./interface-members.ts";

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
