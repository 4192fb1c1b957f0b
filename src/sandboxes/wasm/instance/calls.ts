import type { ComponentValue } from "../abi/value.ts";
import { CapabilityDeniedError } from "../host/interface-members.ts";
import type { ComponentFunction, ImportedFunction } from "../linking/link-plan.ts";

/** One instance of a component, whatever engine runs it. */
export interface ComponentCalls extends Disposable {
  /** Creates the core instances, unless they exist. This runs their start functions. */
  make(): void;
  /** Calls an exported function. After a call that threw, further calls throw the same. */
  call(exported: ComponentFunction, args: readonly ComponentValue[]): ComponentValue;
  /** Keeps a copy of its state, so that it can be restored. Called right after it was created. */
  keepImage(): void;
  /** Restores a disposed instance to its state after creation. Returns `false` if that is impossible. */
  restore(): boolean;
  /** Whether an image was retained, but the instance cannot be restored. */
  readonly isPastRestoring: boolean;
  /** Whether all calls so far have returned. */
  readonly isIntact: boolean;
  /** The current size of its linear memories, tables and exceptions, in bytes. */
  readonly memoryBytes: number;
  /** Whether one of its memories has no space left because of its cap. */
  readonly isAtMemoryCap: boolean;
}

/** A function's name in WIT, as JavaScript names its parts. */
interface JavaScriptName {
  readonly kind: "function" | "constructor" | "method" | "static";
  /** The class; "" for a function. */
  readonly resource: string;
  /** The function or method; "" for a constructor. */
  readonly member: string;
}

/** The syntax of a function's name (`Explainer.md`, `plainname`), such as `[method]pollable.block`. */
const PLAIN_NAME = /^(?:\[(constructor|method|static)\])?([a-z0-9-]+)(?:\.([a-z0-9-]+))?$/i;

/** Returns an interface of the host by its name without version. Functions are in camel case, resources are classes. */
export type HostInterfaces = (name: string) => object;

type HostFunction = (...args: readonly ComponentValue[]) => ComponentValue;

/**
 * Calls a function of the host. If its type is a `result`, the function returns the payload of `ok` and throws that of
 * `err`. If it throws an instance of `Error`, the call of the component ends.
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

/** An imported function's name, and its interface without version. */
interface HostName extends JavaScriptName {
  readonly interface: string;
}

const names = new WeakMap<ImportedFunction, HostName>();

function readName(callee: ImportedFunction): HostName {
  const known = names.get(callee);
  if (known !== undefined) return known;
  const name = { ...javaScriptName(callee.name), interface: withoutVersion(callee.interface) };
  names.set(callee, name);
  return name;
}

function findFunction(
  host: object,
  { interface: interfaceName, kind, resource, member }: HostName,
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

/** Returns a method that the host defined for components, not one that all objects and functions inherit. */
function ownMethod(owner: object, name: string): HostFunction | undefined {
  if (name === "constructor" || !Object.hasOwn(owner, name)) return undefined;
  const method: unknown = Reflect.get(owner, name);
  return typeof method === "function" ? (method as HostFunction) : undefined;
}

/** Returns the parts of a function's name in JavaScript. */
export function javaScriptName(name: string): JavaScriptName {
  const [, kind = "function", first = "", second = ""] = PLAIN_NAME.exec(name) ?? [];
  const isFunction = kind === "function";
  return {
    kind: kind as JavaScriptName["kind"],
    resource: isFunction ? "" : pascalCase(first),
    member: camelCase(isFunction ? first : second),
  };
}

/** Returns an interface's name without its version. */
export function withoutVersion(interfaceName: string): string {
  return interfaceName.replace(/@.*$/, "");
}

/** Returns a label of WIT in camel case. Its words are all in lower or all in upper case. */
export function camelCase(label: string): string {
  return label.toLowerCase().replaceAll(/-([a-z0-9])/g, (_, first: string) => first.toUpperCase());
}

function pascalCase(label: string): string {
  return camelCase(`-${label}`);
}
