import type { ComponentValue, TaggedValue } from "../../abi/value.ts";
import type { ImportedFunction } from "../../linking/link-plan.ts";
import { javaScriptName, withoutVersion } from "../javascript-name.ts";
import { fromJco, type JcoValue, toJco } from "./jco-value.ts";

/** Calls a function of the host. */
export type CallImport = (callee: ImportedFunction, args: readonly ComponentValue[]) => ComponentValue;

/** The imports of jco's code: functions and classes by interface. */
export type HostImports = Record<string, Record<string, unknown>>;

type HostFunction = (...args: readonly JcoValue[]) => JcoValue;

/**
 * Returns the imports of jco's code, each of which calls the host.
 *
 * @param call Calls a function of the host. A value of type `result` comes back as such.
 */
export function hostImports(imports: readonly ImportedFunction[], call: CallImport): HostImports {
  const interfaces: HostImports = Object.create(null);
  for (const imported of imports) {
    const members = membersOf(interfaces, withoutVersion(imported.interface));
    const { kind, resource, member } = javaScriptName(imported.name);
    const run = hostFunction(imported, call);
    if (kind === "function") members[member] = run;
    else if (kind === "static") Object.assign(classOf(members, resource), { [member]: run });
    else if (kind === "constructor") constructors.set(classOf(members, resource), run);
    else {
      const method = function (this: unknown, ...args: readonly JcoValue[]): JcoValue {
        return run(this, ...args);
      };
      Object.assign(classOf(members, resource).prototype, { [member]: method });
    }
  }
  // A resource that no function of its interface names has a class, too.
  return new Proxy(interfaces, { get: (target, name) => withClasses(membersOf(target, String(name))) });
}

function membersOf(interfaces: HostImports, name: string): Record<string, unknown> {
  interfaces[name] ??= Object.create(null) as Record<string, unknown>;
  return interfaces[name];
}

function withClasses(members: Record<string, unknown>): Record<string, unknown> {
  return new Proxy(members, {
    get: (target, name) =>
      /^[A-Z]/.test(String(name)) ? classOf(target, String(name)) : target[String(name)],
  });
}

type ResourceClass = ReturnType<typeof resourceClass>;

const constructors = new WeakMap<ResourceClass, HostFunction>();

function classOf(members: Record<string, unknown>, name: string): ResourceClass {
  members[name] ??= resourceClass();
  return members[name] as ResourceClass;
}

/** A class for resources of the host. They are objects of other classes, which the host does not reveal. */
function resourceClass() {
  return class Resource {
    constructor(...args: readonly JcoValue[]) {
      const construct = constructors.get(Resource);
      if (construct === undefined) throw new TypeError("the resource has no constructor");
      // biome-ignore lint/correctness/noConstructorReturn: the resource is an object of the host
      return construct(...args) as Resource;
    }

    static [Symbol.hasInstance](value: unknown): boolean {
      return typeof value === "object" && value !== null;
    }
  };
}

function hostFunction(imported: ImportedFunction, call: CallImport): HostFunction {
  const { params, result } = imported.type;
  return (...args) => {
    const value = call(
      imported,
      params.map(({ type }, index) => fromJco(type, args[index])),
    );
    if (result === undefined) return undefined;
    // jco's code takes a result as a value that is returned, too.
    return toJco(result, value as TaggedValue, (_, resource) => resource);
  };
}
