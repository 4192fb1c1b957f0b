import type { JsonValue } from "../json/value.ts";
import type { PolicySubject } from "../policy/policy.ts";
import type { ArgumentProblem } from "../schema/arguments.ts";
import {
  type CheckedArguments,
  checkArguments,
  onlyProblem,
  receiveArguments,
  unreadableText,
} from "./call.ts";
import { type ToolDefinition, toToolDefinition } from "./definition.ts";
import {
  checkRegistryOptions,
  type DefinitionPins,
  type RegisteredTool,
  registeredTool,
  ToolNotFoundError,
  type ToolRegistryOptions,
} from "./registered-tool.ts";
import type { Tool } from "./tool.ts";

/** What {@link ToolRegistry.validate} returns: the arguments as the tool gets them, or everything that is wrong with them. */
export type ValidatedArguments =
  | { readonly input: JsonValue }
  | { readonly problems: readonly ArgumentProblem[] };

/** Whether a view of a registry has a tool. */
type IsVisible = (tool: Tool<never, never>) => boolean;

/**
 * The tools that a dispatch can find, by name. Tools can be registered and unregistered at any time: a dispatch looks
 * its tool up only once.
 */
export class ToolRegistry<in Embedder = unknown> {
  #tools = new Map<string, RegisteredTool<Embedder>>();
  /** In an object, which the views share. */
  #pinned: { pins: DefinitionPins | undefined };
  readonly #options: ToolRegistryOptions;
  /** In an object, which the views share, too. */
  #changes = { count: 0 };
  /** Which of the tools a view has; `undefined` if the registry is not a view. */
  #isVisible: IsVisible | undefined;

  /** @throws {TypeError} if an option is invalid. */
  constructor(options: ToolRegistryOptions = {}) {
    checkRegistryOptions(options);
    this.#options = Object.freeze({ ...options });
    this.#pinned = { pins: options.pins };
  }

  /** Which definitions were approved; `undefined` if all are. Views have the pins of their registry. */
  get pins(): DefinitionPins | undefined {
    return this.#pinned.pins;
  }

  set pins(pins: DefinitionPins | undefined) {
    this.#refuseView();
    this.#pinned.pins = pins;
  }

  /**
   * Adds a tool. Returns the registry, so calls can be chained.
   *
   * @param options.replace Whether to replace a tool with the same name. Default: `false`.
   * @throws {DuplicateToolError} if the name is taken, {@link ToolRegistrationError} otherwise. Both have every reason,
   *   such as an invalid name, a schema that does not compile, or no implementation.
   * @throws {PackageFileError} if Sandgate's files are not beside its code, as in a bundle.
   */
  register(tool: Tool<never, Embedder>, options: { readonly replace?: boolean } = {}): this {
    this.#refuseView();
    const registered = registeredTool(
      tool,
      this.#options,
      (name) => !options.replace && this.#tools.has(name),
    );
    this.#tools.set(registered.subject.name, registered);
    this.#changes.count++;
    return this;
  }

  /** Removes a tool and returns whether it was registered. Calls that already found it continue. */
  unregister(name: string): boolean {
    this.#refuseView();
    this.#changes.count++;
    return this.#tools.delete(name);
  }

  /**
   * Returns the tool with this name.
   *
   * @throws {ToolNotFoundError} if it is not registered.
   */
  get(name: string): Tool<never, Embedder> {
    return this.#get(name).tool;
  }

  /**
   * Validates arguments as a dispatch does: parses them, checks them against the tool's schema, adapts them by its rules
   * and runs its `validate`. Runs neither hooks nor a policy.
   *
   * @param args JSON text, or a value, which is copied. For a free-form tool, a string is the input itself.
   * @returns The arguments that the tool would get, deeply frozen, or the problems. Does not throw for any arguments.
   * @throws {ToolNotFoundError} if the tool is not registered.
   */
  validate(name: string, args: unknown): ValidatedArguments {
    const checked = check(args, this.#get(name));
    return "value" in checked ? { input: checked.value } : { problems: checked.problems };
  }

  /** Returns whether a tool with this name is registered. */
  has(name: string): boolean {
    return this.#find(name) !== undefined;
  }

  /** The names in order of registration. */
  get names(): readonly string[] {
    return Array.from(this.#all(), ({ tool }) => tool.name);
  }

  /** The first names of tools with approved definitions in order of registration, at most `count`. @internal */
  firstNames(count: number): readonly string[] {
    return Array.from(this.#offered().take(count), ({ tool }) => tool.name);
  }

  /** The names of tools with approved definitions that meet a condition, in order of registration. @internal */
  namesThat(isMeant: (name: string) => boolean): readonly string[] {
    const names: string[] = [];
    // Without iterator helpers, which would take most of the time: programs ask for the names in every call.
    for (const registered of this.#tools.values()) {
      const { tool } = registered;
      if (this.#isVisible !== undefined && !this.#isVisible(tool)) continue;
      if (isMeant(tool.name) && this.isApproved(registered)) names.push(tool.name);
    }
    return names;
  }

  /** The tools in order of registration. */
  get tools(): readonly Tool<never, Embedder>[] {
    return Array.from(this.#all(), ({ tool }) => tool);
  }

  /** The tools as policies see them, in order of registration. Policy files are checked against them. */
  get subjects(): readonly PolicySubject[] {
    return Array.from(this.#all(), ({ subject }) => subject);
  }

  /** Differs after every change of the tools. @internal */
  get revision(): number {
    return this.#changes.count;
  }

  /** The number of tools. */
  get size(): number {
    return this.#isVisible === undefined ? this.#tools.size : this.tools.length;
  }

  /** Whether no tool is registered. */
  get isEmpty(): boolean {
    return this.#all().next().done === true;
  }

  /**
   * Creates an independent registry, with the same options and only these tools.
   *
   * @throws {ToolNotFoundError} if one of them is not registered.
   */
  subset(...names: readonly string[]): ToolRegistry<Embedder> {
    const subset = new ToolRegistry<Embedder>(this.#options);
    subset.#pinned = this.#pinned;
    for (const name of names) subset.#tools.set(name, this.#get(name));
    return subset;
  }

  /**
   * Creates a view of this registry, which has only the tools that are visible. It follows later changes of
   * the registry, and cannot be changed itself.
   *
   * @param isVisible Called for each look-up. Must not throw.
   */
  view(isVisible: IsVisible): ToolRegistry<Embedder> {
    const view = new ToolRegistry<Embedder>(this.#options);
    const outer = this.#isVisible;
    view.#tools = this.#tools;
    view.#pinned = this.#pinned;
    view.#changes = this.#changes;
    view.#isVisible = outer === undefined ? isVisible : (tool) => outer(tool) && isVisible(tool);
    return view;
  }

  /** Descriptions of the tools for a model: plain objects, in order of registration. Only approved definitions. */
  definitions(): ToolDefinition[] {
    return Array.from(this.#offered(), ({ tool }) => toToolDefinition(tool));
  }

  /** Returns whether the definition of a tool was approved: see {@link pins}. @internal */
  isApproved({ tool, definition }: RegisteredTool<never>): boolean {
    const { pins } = this.#pinned;
    return pins === undefined || pins.isApproved(tool.name, definition);
  }

  /** Returns the tool with this name and everything that the engine needs. @internal */
  find(name: string): RegisteredTool | undefined {
    return this.#find(name);
  }

  #find(name: string): RegisteredTool<Embedder> | undefined {
    const found = this.#tools.get(name);
    if (this.#isVisible === undefined || found === undefined) return found;
    return this.#isVisible(found.tool) ? found : undefined;
  }

  /** @throws {ToolNotFoundError} if it is not registered. */
  #get(name: string): RegisteredTool<Embedder> {
    const found = this.#find(name);
    if (found === undefined) throw new ToolNotFoundError(name);
    return found;
  }

  #all(): IteratorObject<RegisteredTool<Embedder>> {
    const isVisible = this.#isVisible;
    const all = this.#tools.values();
    return isVisible === undefined ? all : all.filter(({ tool }) => isVisible(tool));
  }

  #offered(): IteratorObject<RegisteredTool<Embedder>> {
    return this.#pinned.pins === undefined
      ? this.#all()
      : this.#all().filter((each) => this.isApproved(each));
  }

  #refuseView(): void {
    if (this.#isVisible !== undefined) throw new TypeError("a view of a registry cannot be changed");
  }
}

function check(args: unknown, registered: RegisteredTool<never>): CheckedArguments {
  let received: JsonValue;
  try {
    received = receiveArguments(args);
  } catch (error) {
    return onlyProblem(unreadableText(error));
  }
  return checkArguments(received, registered);
}
