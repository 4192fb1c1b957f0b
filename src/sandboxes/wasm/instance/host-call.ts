import type { ComponentValue } from "../abi/value.ts";
import { CapabilityDeniedError } from "../host/denied.ts";
import type { ComponentFunction } from "../linking/link-plan.ts";

/** What the host has: an interface by its name without version. Functions in camel case, resources as classes. */
export type HostInterfaces = (name: string) => object;

type HostFunction = (...args: readonly ComponentValue[]) => ComponentValue;

type ImportedFunction = Extract<ComponentFunction, { readonly kind: "import" }>;

/** A function's name, taken apart once for all calls. */
interface ReadName {
  /** Without version. */
  readonly interface: string;
  readonly kind: "function" | "constructor" | "method" | "static";
  readonly resource: string;
  readonly member: string;
}

/**
 * Calls a function of the host. Where it has a `result`, it returns what is `ok`, and throws what is `err`:
 * anything but an error, which ends the call.
 */
export function callHost(
  host: HostInterfaces,
  callee: ImportedFunction,
  args: readonly ComponentValue[],
): ComponentValue {
  const name = readName(callee);
  const call = findFunction(host(name.interface), name);
  if (callee.type.result?.kind !== "result") return call(...args);
  try {
    return { tag: "ok", val: call(...args) };
  } catch (thrown) {
    if (thrown instanceof Error) throw thrown;
    return { tag: "err", val: thrown as ComponentValue };
  }
}

/** A function's name says what it is (`Explainer.md`, `plainname`): `[method]pollable.block`. */
const PLAIN_NAME = /^(?:\[(constructor|method|static)\])?([a-z0-9-]+)(?:\.([a-z0-9-]+))?$/i;

const names = new WeakMap<ImportedFunction, ReadName>();

function readName(callee: ImportedFunction): ReadName {
  const known = names.get(callee);
  if (known !== undefined) return known;
  const [, kind = "function", first = "", second = ""] = PLAIN_NAME.exec(callee.name) ?? [];
  const name: ReadName = {
    interface: callee.interface.replace(/@.*$/, ""),
    kind: kind as ReadName["kind"],
    resource: kind === "function" ? "" : pascalCase(first),
    member: camelCase(kind === "function" ? first : second),
  };
  names.set(callee, name);
  return name;
}

function findFunction(
  host: object,
  { interface: interfaceName, kind, resource, member }: ReadName,
): HostFunction {
  switch (kind) {
    case "function":
      return Reflect.get(host, member) as HostFunction;
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
