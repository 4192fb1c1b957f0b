import { copyJson } from "../json/copy.ts";
import { isJsonObject, type JsonObject } from "../json/value.ts";
import type { PolicySubject } from "../policy/policy.ts";
import {
  type ArgumentRules,
  argumentRuleProblems,
  DEFAULT_ARGUMENT_RULES,
} from "../schema/argument-rules.ts";
import { SCHEMA_BOUNDS } from "../schema/bounds.ts";
import { type CompiledSchema, compileSchema } from "../schema/compiled-schema.ts";
import { sandboxesOf } from "../tool/implementations.ts";
import type { Placement } from "./steps/place.ts";
import { type Tool, toolProblems } from "./tool.ts";

/** There is no tool of that name. */
export class ToolNotFoundError extends Error {
  override readonly name = "ToolNotFoundError";
  readonly toolName: string;

  constructor(toolName: string) {
    super(`Tool '${toolName}' is not registered`);
    this.toolName = toolName;
  }
}

/** A tool cannot be registered. `reasons` has every reason, not just the first. */
export class ToolRegistrationError extends Error {
  override readonly name = "ToolRegistrationError";
  readonly toolName: string;
  readonly reasons: readonly string[];

  constructor(toolName: string, reasons: readonly string[]) {
    super(`Tool '${toolName}' cannot be registered: ${reasons.join("; ")}`);
    this.toolName = toolName;
    this.reasons = Object.freeze([...reasons]);
  }
}

/** What a model is told of a tool. */
export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
}

/** A tool as the engine uses it: everything derived once, when it is registered. */
export interface RegisteredTool {
  readonly tool: Tool;
  readonly schema: CompiledSchema;
  readonly rules: Required<ArgumentRules>;
  readonly subject: PolicySubject;
  /** What was found for its last call. */
  readonly last: { placement?: Placement };
}

/** What holds for every tool of a registry, unless the tool says otherwise. */
export interface ToolRegistryOptions extends ArgumentRules {
  /**
   * Schemas by URI that the tools' schemas may refer to; they are trusted. Nothing is ever fetched. Default:
   * none.
   */
  readonly schemas?: Readonly<Record<string, JsonObject>>;
}

/**
 * The tools that a dispatch can find, by name. Registering and unregistering is safe at any time: a dispatch
 * looks its tool up once.
 */
export class ToolRegistry {
  readonly #tools = new Map<string, RegisteredTool>();
  readonly #options: ToolRegistryOptions;

  /** @throws {TypeError} when an option is none. */
  constructor(options: ToolRegistryOptions = {}) {
    const [problem] = argumentRuleProblems(options);
    if (problem !== undefined) throw new TypeError(problem);
    this.#options = Object.freeze({ ...options });
  }

  /**
   * Adds a tool; returns the registry, so that calls chain.
   *
   * @param options.replace Whether to take the place of a tool of the same name. Default: `false`.
   * @throws {ToolRegistrationError} with every reason: an unfit name or one that is taken, a schema that does
   *   not compile, no implementation.
   */
  register(tool: Tool, options: { readonly replace?: boolean } = {}): this {
    const reasons = [...toolProblems(tool)];
    const name = typeof tool?.name === "string" ? tool.name : "?";
    if (this.#tools.has(name) && !options.replace) reasons.push("the name is taken");
    let inputSchema: JsonObject | undefined;
    let schema: CompiledSchema | undefined;
    if (isJsonObject(tool?.inputSchema)) {
      try {
        // A copy: what was compiled is what models and policies are told of.
        inputSchema = copyJson(tool.inputSchema, SCHEMA_BOUNDS) as JsonObject;
        schema = compileSchema(inputSchema, this.#options.schemas);
      } catch (error) {
        reasons.push(`the input schema does not compile: ${error instanceof Error ? error.message : error}`);
      }
    }
    if (reasons.length > 0 || inputSchema === undefined || schema === undefined) {
      throw new ToolRegistrationError(name, reasons);
    }
    const { sideEffects = "destructive" } = tool;
    const rules = this.#rulesOf(tool);
    const subject = Object.freeze({ name, sideEffects, sandboxes: sandboxesOf(tool), inputSchema });
    const registered = { tool: Object.freeze({ ...tool, inputSchema }), schema, rules, subject, last: {} };
    this.#tools.set(name, Object.freeze(registered));
    return this;
  }

  /** The tool's own rules, the registry's, or the default. */
  #rulesOf({ nullForOptional, coerce }: ArgumentRules): Required<ArgumentRules> {
    return Object.freeze({
      nullForOptional:
        nullForOptional ?? this.#options.nullForOptional ?? DEFAULT_ARGUMENT_RULES.nullForOptional,
      coerce: coerce ?? this.#options.coerce ?? DEFAULT_ARGUMENT_RULES.coerce,
    });
  }

  /** Removes a tool; tells whether it was there. Calls that already found it go on. */
  unregister(name: string): boolean {
    return this.#tools.delete(name);
  }

  /** @throws {ToolNotFoundError} */
  get(name: string): Tool {
    const found = this.#tools.get(name);
    if (found === undefined) throw new ToolNotFoundError(name);
    return found.tool;
  }

  has(name: string): boolean {
    return this.#tools.has(name);
  }

  /** The names in order of registration. */
  get names(): readonly string[] {
    return [...this.#tools.keys()];
  }

  /** The tools in order of registration. */
  get tools(): readonly Tool[] {
    return Array.from(this.#tools.values(), ({ tool }) => tool);
  }

  /** What policies know of the tools, in order of registration: what a policy file is held against. */
  get subjects(): readonly PolicySubject[] {
    return Array.from(this.#tools.values(), ({ subject }) => subject);
  }

  get size(): number {
    return this.#tools.size;
  }

  get isEmpty(): boolean {
    return this.#tools.size === 0;
  }

  /**
   * A registry of its own with only these tools.
   *
   * @throws {ToolNotFoundError} when one of them is not registered.
   */
  subset(...names: readonly string[]): ToolRegistry {
    const subset = new ToolRegistry(this.#options);
    for (const name of names) {
      const found = this.#tools.get(name);
      if (found === undefined) throw new ToolNotFoundError(name);
      subset.#tools.set(name, found);
    }
    return subset;
  }

  /** What a model is told of the tools: plain objects, in order of registration. */
  definitions(): ToolDefinition[] {
    return this.tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
  }

  /** What the engine needs of a tool. @internal */
  find(name: string): RegisteredTool | undefined {
    return this.#tools.get(name);
  }
}
