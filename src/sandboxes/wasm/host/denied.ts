import { WASI_INTERFACES } from "../interfaces.ts";
import type { InterfaceMembers } from "./interface-members.ts";

/** A component used an interface that was not granted. `message` is for the model. */
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
 * An interface on which every function and every resource throws {@link CapabilityDeniedError} when it is
 * used, so that a component which merely imports it still starts. Resources begin with a capital letter.
 *
 * @param known Members that work all the same.
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

/** No component ever holds such a resource: it can come only from its constructor and its static functions. */
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
