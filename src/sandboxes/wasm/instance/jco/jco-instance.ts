import { dispose } from "../../abi/handles.ts";
import type { LiftBudget } from "../../abi/lift-budget.ts";
import { AbiError, type ComponentValue, type TaggedValue } from "../../abi/value.ts";
import type { JcoProgram, WasmArtifact } from "../../artifact.ts";
import { ArgumentError, toJson } from "../../exports/json.ts";
import type { ComponentFunction, ImportedFunction } from "../../linking/link-plan.ts";
import type { FunctionType, ValueType } from "../../linking/value-type.ts";
import {
  type ComponentCalls,
  callHost,
  type HostInterfaces,
  javaScriptName,
  withoutVersion,
} from "../calls.ts";
import { MemoryGauge } from "../memory-gauge.ts";
import { loadGenerated } from "./generated-module.ts";
import { asJcoError, fromJco, type JcoValue, toJco } from "./jco-value.ts";

/** Calls a function of the host. */
type CallImport = (callee: ImportedFunction, args: readonly ComponentValue[]) => ComponentValue;

/** The imports of jco's code: functions and classes by interface. */
type HostImports = Record<string, Record<string, unknown>>;

type HostFunction = (...args: readonly JcoValue[]) => JcoValue;

type ResourceClass = ReturnType<typeof resourceClass>;

const constructors = new WeakMap<ResourceClass, HostFunction>();

/** Functions and classes by name, or interfaces with them. */
type Members = Readonly<Record<string, unknown>>;
type JcoFunction = (...args: readonly JcoValue[]) => JcoValue;

/** One instance of a component that jco's generated code runs. It throws errors of jco's code, the host and V8. */
export class JcoInstance implements ComponentCalls {
  readonly isPastRestoring = false;
  readonly #artifact: WasmArtifact;
  readonly #program: JcoProgram;
  readonly #host: HostInterfaces;
  readonly #budget: LiftBudget;
  readonly #memories: MemoryGauge;
  readonly #names: ReadonlyMap<ComponentFunction, string>;
  /** The host's objects that the component may still refer to. */
  readonly #resources = new Set<unknown>();
  /** The core instances that are still to be created. */
  readonly #awaited: number[];
  #exports: Members | undefined;
  /** What ended a call. A component can catch exceptions that are thrown through it, but must not continue. */
  #ended: { readonly by: unknown } | undefined;

  constructor(artifact: WasmArtifact, program: JcoProgram, host: HostInterfaces, budget: LiftBudget) {
    this.#artifact = artifact;
    this.#memories = new MemoryGauge(artifact.objectBytes);
    this.#program = program;
    this.#host = host;
    this.#budget = budget;
    this.#names = new Map(Array.from(artifact.plan.exports, ([name, exported]) => [exported, name]));
    this.#awaited = artifact.plan.coreInstances.map(({ module }) => module);
  }

  make(): void {
    if (this.#exports !== undefined) return;
    const { cores } = this.#artifact;
    const { modules, imports } = this.#program;
    const instantiate = loadGenerated(this.#program, this.#budget);
    const given = hostImports(imports, (callee, args) => this.#callHost(callee, args));
    this.#exports = instantiate(
      (file) => {
        const core = cores[modules.get(file) ?? -1];
        if (core === undefined) throw new AbiError("the core module does not exist");
        return core.module;
      },
      given,
      (module, importObject) => this.#instantiate(module, importObject),
    ) as Members;
  }

  /**
   * Memory is divided among the instances that were counted in the code, so there must be no further ones.
   */
  #instantiate(module: WebAssembly.Module, imports: WebAssembly.Imports): WebAssembly.Instance {
    const at = this.#awaited.findIndex((index) => this.#artifact.cores[index]?.module === module);
    const core = this.#artifact.cores[this.#awaited.splice(at, 1)[0] ?? -1];
    if (at === -1 || core === undefined) throw new AbiError("a core module is instantiated too often");
    const instance = new WebAssembly.Instance(module, imports);
    this.#memories.watch(instance, core);
    return instance;
  }

  #callHost(callee: ImportedFunction, args: readonly ComponentValue[]): ComponentValue {
    this.#throwIfEnded();
    try {
      const value = callHost(this.#host, callee, args);
      if (callee.type.result !== undefined) this.#track(callee.type.result, value);
      return value;
    } catch (thrown) {
      this.#ended ??= { by: thrown };
      throw thrown;
    } finally {
      // The arguments are no longer used.
      this.#budget.end(0);
      this.#budget.begin();
    }
  }

  /** Records the resources in a value, to dispose them with the instance. */
  #track(type: ValueType, value: ComponentValue): void {
    toJco(type, value, (_, resource) => {
      this.#resources.add(resource);
      return resource;
    });
  }

  call(exported: ComponentFunction, args: readonly ComponentValue[]): ComponentValue {
    this.#throwIfEnded();
    try {
      this.make();
      const name = this.#names.get(exported) ?? "";
      const value = this.#call(name, args);
      this.#throwIfEnded();
      return value;
    } catch (thrown) {
      // What ended a call of the host comes first.
      this.#ended ??= { by: asJcoError(thrown) };
      throw this.#ended.by;
    }
  }

  #call(name: string, args: readonly ComponentValue[]): ComponentValue {
    const type = this.#program.exports.get(name);
    if (type === undefined) throw new AbiError("the component does not export the function");
    const given = type.params.map((param, index) =>
      toJco(param.type, args[index], (_, value) => this.#make(name, value as TaggedValue)),
    );
    const { result } = type;
    if (result?.kind !== "result") {
      const returned = this.#invoke(name, given);
      return result === undefined ? undefined : fromJco(result, returned);
    }
    const { tag, val } = this.#invokeResult(name, given);
    const payload = tag === "ok" ? result.ok : result.err;
    return payload === undefined ? { tag } : { tag, val: fromJco(payload, val) };
  }

  /** Makes the resource that an argument describes. */
  #make(name: string, { tag, val }: TaggedValue): JcoValue {
    const maker = `${name.slice(0, name.lastIndexOf("#") + 1)}${tag}`;
    const type = this.#program.exports.get(maker) as FunctionType;
    const record = (val ?? {}) as Readonly<Record<string, ComponentValue>>;
    const given = type.params.map((param) => toJco(param.type, record[param.name], (_, value) => value));
    if (type.result?.kind !== "result") return this.#invoke(maker, given);
    const made = this.#invokeResult(maker, given);
    if (made.tag === "ok") return made.val;
    const { err } = type.result;
    const reason =
      err === undefined ? "" : `: ${JSON.stringify(toJson(err, fromJco(err, made.val))).slice(0, 1_024)}`;
    throw new ArgumentError("", `cannot be used, because '${tag}' failed${reason}`);
  }

  #invokeResult(
    name: string,
    args: readonly JcoValue[],
  ): { readonly tag: "ok" | "err"; readonly val: JcoValue } {
    try {
      return { tag: "ok", val: this.#invoke(name, args) };
    } catch (thrown) {
      // jco's code throws the payload of `err`, and errors if the component traps.
      if (thrown instanceof Error || thrown instanceof WebAssembly.Exception) throw thrown;
      return { tag: "err", val: thrown };
    }
  }

  #invoke(name: string, args: readonly JcoValue[]): JcoValue {
    const hash = name.lastIndexOf("#");
    const { kind, resource, member } = javaScriptName(name.slice(hash + 1));
    const exports = this.#exports ?? {};
    const scope = hash === -1 ? exports : (exports[name.slice(0, hash)] as Members);
    switch (kind) {
      case "function":
        return (scope[member] as JcoFunction)(...args);
      case "constructor":
        return new (scope[resource] as new (...given: readonly JcoValue[]) => object)(...args);
      case "static":
        return ((scope[resource] as unknown as Members)[member] as JcoFunction)(...args);
      case "method": {
        const [self, ...others] = args as [Members, ...JcoValue[]];
        return (self[member] as JcoFunction).apply(self, others);
      }
    }
  }

  #throwIfEnded(): void {
    if (this.#ended !== undefined) throw this.#ended.by;
  }

  keepImage(): void {}

  restore(): boolean {
    return false;
  }

  get isIntact(): boolean {
    return this.#ended === undefined;
  }

  get memoryBytes(): number {
    return this.#memories.bytes;
  }

  get isAtMemoryCap(): boolean {
    return this.#memories.isAtCap;
  }

  [Symbol.dispose](): void {
    this.#ended ??= { by: new AbiError("the instance has ended") };
    for (const resource of this.#resources) dispose(resource);
    this.#resources.clear();
  }
}

/**
 * Returns the imports of jco's code, each of which calls the host.
 *
 * @param call Calls a function of the host. A value of type `result` comes back as such.
 */
function hostImports(imports: readonly ImportedFunction[], call: CallImport): HostImports {
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
