import type { ComponentValue } from "../abi/value.ts";
import { CapabilityDeniedError } from "../host/denied.ts";
import type { ComponentFunction } from "../linking/link-plan.ts";

/** Returns an interface of the host by its name without version. Functions are in camel case, resources are classes. */
export type HostInterfaces = (name: string) => object;

type HostFunction = (...args: readonly ComponentValue[]) => ComponentValue;

type ImportedFunction = Extract<ComponentFunction, { readonly kind: "import" }>;

/** The parts of a function's name, parsed once for all calls. */
interface ReadName {
  /** Without version. */
  readonly interface: string;
  readonly kind: "function" | "constructor" | "method" | "static";
  readonly resource: string;
  readonly member: string;
}

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

/** The syntax of a function's name (`Explainer.md`, `plainname`), such as `[method]pollable.block`. */
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

/** Returns a method that the host defined for components, and none that all objects and functions inherit. */
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
