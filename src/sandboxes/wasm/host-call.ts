import type { ComponentValue } from "./abi/value.ts";
import type { ComponentFunction } from "./linking/link-plan.ts";
import { CapabilityDeniedError } from "./wasi/denied.ts";

/** What the host has: an interface by its name without version. Functions in camel case, resources as classes. */
export type HostInterfaces = (name: string) => object;

type HostFunction = (...args: readonly ComponentValue[]) => ComponentValue;

/**
 * Calls a function of the host. Where it has a `result`, it returns what is `ok`, and throws what is `err`:
 * anything but an error, which ends the call.
 */
export function callHost(
  host: HostInterfaces,
  { interface: versioned, name, type }: Extract<ComponentFunction, { readonly kind: "import" }>,
  args: readonly ComponentValue[],
): ComponentValue {
  const interfaceName = versioned.replace(/@.*$/, "");
  const call = findFunction(host(interfaceName), interfaceName, name);
  if (type.result?.kind !== "result") return call(...args);
  try {
    return { tag: "ok", val: call(...args) };
  } catch (thrown) {
    if (thrown instanceof Error) throw thrown;
    return { tag: "err", val: thrown as ComponentValue };
  }
}

/** A function's name says what it is (`Explainer.md`, `plainname`): `[method]pollable.block`. */
const PLAIN_NAME = /^(?:\[(constructor|method|static)\])?([a-z0-9-]+)(?:\.([a-z0-9-]+))?$/i;

function findFunction(host: object, interfaceName: string, name: string): HostFunction {
  const [, kind, first = "", second = ""] = PLAIN_NAME.exec(name) ?? [];
  const resource = pascalCase(first);
  const member = camelCase(second);
  switch (kind) {
    case undefined:
      return Reflect.get(host, camelCase(first)) as HostFunction;
    case "constructor": {
      const Resource = Reflect.get(host, resource) as new (...args: readonly ComponentValue[]) => object;
      return (...args) => new Resource(...args);
    }
    case "static":
      return ownMethod(Reflect.get(host, resource), member) ?? refuse;
    default:
      return (self, ...args) => (ownMethod(Object.getPrototypeOf(self), member) ?? refuse).apply(self, args);
  }
  function refuse(): never {
    throw new CapabilityDeniedError(interfaceName, `${resource}.${member}`);
  }
}

/** What the host wrote for a component, and nothing that every object and function has. */
function ownMethod(owner: object, name: string): HostFunction | undefined {
  if (name === "constructor" || !Object.hasOwn(owner, name)) return undefined;
  const method: unknown = Reflect.get(owner, name);
  return typeof method === "function" ? (method as HostFunction) : undefined;
}

function camelCase(label: string): string {
  return label.replaceAll(/-([a-z0-9])/gi, (_, letter: string) => letter.toUpperCase());
}

function pascalCase(label: string): string {
  return camelCase(`-${label}`);
}
