import { PackageFileError } from "../base/package/package-file-error.ts";
import { copyJson } from "../json/copy.ts";
import type { DuplicateKeys } from "../json/duplicate-keys.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../json/value.ts";
import type { PolicySubject } from "../policy/policy.ts";
import type { ArgumentProblem } from "../schema/argument-problem.ts";
import {
  type ArgumentRules,
  argumentRuleProblems,
  DEFAULT_ARGUMENT_RULES,
} from "../schema/argument-rules.ts";
import { SCHEMA_BOUNDS } from "../schema/bounds.ts";
import { type CompiledSchema, compileSchema } from "../schema/compiled-schema.ts";
import { sandboxesOf } from "../tool/implementations/implementations.ts";
import { SIDE_EFFECTS, UNDECLARED_SIDE_EFFECTS } from "../tool/side-effects.ts";
import { accessTo } from "../tool/tool-traits.ts";
import { type CheckedArguments, checkArguments, onlyProblem } from "./arguments/check-arguments.ts";
import { declaredArguments } from "./arguments/declared-arguments.ts";
import { receiveArguments, unreadableText } from "./arguments/receive-arguments.ts";
import { ToolDefinitionDigest } from "./definition.ts";
import type { DefinitionPins } from "./definition-pins.ts";
import { type RegisteredTool, type ToolDefinition, toToolDefinition } from "./registered-tool.ts";
import { DuplicateToolError, ToolNotFoundError, ToolRegistrationError } from "./registry-errors.ts";
import { type Tool, toolProblems } from "./tool.ts";

const NO_TAGS: readonly string[] = Object.freeze([]);

/** What {@link ToolRegistry.validate} returns: the arguments as the tool gets them, or everything that is wrong with them. */
export type ValidatedArguments =
  | { readonly input: JsonValue }
  | { readonly problems: readonly ArgumentProblem[] };

/** Whether a view of a registry has a tool. */
type IsVisible = (tool: Tool<never, never>) => boolean;

/** Options of {@link ToolRegistry}. The argument rules are defaults for its tools. */
export interface ToolRegistryOptions extends ArgumentRules {
  /**
   * Trusted schemas, by URI, that the tools' schemas may refer to. Nothing is ever fetched. Default: none.
   */
  readonly schemas?: Readonly<Record<string, JsonObject>>;
  /**
   * How to treat arguments, as JSON text, in which an object has several members of one name. What looked at the text
   * before may have read another one of them. Default: `"refuse"`; `"last"`: the last one counts, as in ECMAScript.
   */
  readonly duplicateKeys?: DuplicateKeys;
  /** Whether to refuse a tool that does not declare `sideEffects`. Default: `false`; it counts as `"destructive"`. */
  readonly requireSideEffects?: boolean;
  /** Which definitions were approved. Default: all of them. */
  readonly pins?: DefinitionPins;
}

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
    const [problem] = argumentRuleProblems(options);
    if (problem !== undefined) throw new TypeError(problem);
    const { duplicateKeys } = options;
    if (duplicateKeys !== undefined && duplicateKeys !== "refuse" && duplicateKeys !== "last") {
      throw new TypeError('duplicateKeys must be "refuse" or "last"');
    }
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
    const reasons = [...toolProblems(tool)];
    const name = typeof tool?.name === "string" ? tool.name : "?";
    const isTaken = this.#tools.has(name) && !options.replace;
    if (isTaken) reasons.push("the name is taken");
    if (this.#options.requireSideEffects && isJsonObject(tool) && tool.sideEffects === undefined) {
      reasons.push(`the tool must declare sideEffects: one of ${SIDE_EFFECTS.join(", ")}`);
    }
    const input = this.#compile(tool?.inputSchema, "input", reasons);
    const output = this.#compile(tool?.outputSchema, "output", reasons);
    if (reasons.length > 0 || input === undefined) {
      throw new (isTaken ? DuplicateToolError : ToolRegistrationError)(name, reasons);
    }
    const { sideEffects = UNDECLARED_SIDE_EFFECTS, tags = NO_TAGS } = tool;
    const inputSchema = input.schema;
    const kept = Object.freeze({ ...tool, inputSchema, ...(output && { outputSchema: output.schema }) });
    const definition = new ToolDefinitionDigest(kept);
    const subject: PolicySubject = Object.freeze({
      ...{ name, sideEffects, sandboxes: sandboxesOf(tool), inputSchema, definition },
      tags: Object.freeze([...tags]),
      ...accessTo(tool),
    });
    const registered: RegisteredTool<Embedder> = {
      tool: kept,
      schema: input.compiled,
      rules: this.#rulesOf(tool),
      duplicateKeys: this.#options.duplicateKeys,
      outputSchema: output?.compiled,
      declared: declaredArguments(tool),
      subject,
      definition,
      last: {},
    };
    this.#tools.set(name, Object.freeze(registered));
    this.#changes.count++;
    return this;
  }

  /** Compiles a schema of a tool. Adds to `reasons`, and returns `undefined`, if there is none or it does not compile. */
  #compile(
    given: unknown,
    which: "input" | "output",
    reasons: string[],
  ): { readonly schema: JsonObject; readonly compiled: CompiledSchema } | undefined {
    if (!isJsonObject(given)) return undefined;
    try {
      // A copy, so models and policies get the schema that was compiled.
      const schema = copyJson(given, SCHEMA_BOUNDS) as JsonObject;
      return { schema, compiled: compileSchema(schema, this.#options.schemas) };
    } catch (error) {
      if (error instanceof PackageFileError) throw error;
      reasons.push(`the ${which} schema does not compile: ${error instanceof Error ? error.message : error}`);
      return undefined;
    }
  }

  /** The tool's own rules, else the registry's, else the defaults. */
  #rulesOf({ nullForOptional, coerce }: ArgumentRules): Required<ArgumentRules> {
    return Object.freeze({
      nullForOptional:
        nullForOptional ?? this.#options.nullForOptional ?? DEFAULT_ARGUMENT_RULES.nullForOptional,
      coerce: coerce ?? this.#options.coerce ?? DEFAULT_ARGUMENT_RULES.coerce,
    });
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

  /** The names of tools with approved definitions for which a condition holds, in order of registration. @internal */
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
