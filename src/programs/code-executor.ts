import { describeThrown } from "../base/thrown.ts";
import { type OptionNames, refuseUnknown } from "../base/unknown-names.ts";
import type { DispatchContext } from "../engine/call/context.ts";
import { ToolDispatchEngine } from "../engine/engine.ts";
import { ToolRegistry } from "../engine/registry.ts";
import type { Tool } from "../engine/tool.ts";
import type { ResourceLimits } from "../policy/grant/limits.ts";
import type { RuntimePolicy } from "../policy/policy.ts";
import { allow } from "../policy/policy.ts";
import { ProgramChecker } from "./check/program-checker.ts";
import { RUN_PROGRAM, runProgramTool } from "./run-program.ts";

const NAMES: OptionNames<CodeExecutorOptions> = {
  sandboxes: true,
  hooks: true,
  events: true,
  journal: true,
  principal: true,
  signal: true,
  redaction: true,
  unhandledErrors: true,
  policy: true,
  limits: true,
};

/** The functions that code may call, by name. They get the arguments of the call. */
export type CodeFunctions = Readonly<Record<string, (...args: unknown[]) => Promise<unknown>>>;

/** Functions under a name of their own. */
export interface CodeProvider {
  /** The global variable whose members the functions are: an identifier. */
  readonly name: string;
  readonly fns: CodeFunctions;
  /** JavaScript that runs in the sandbox before the code. */
  readonly prelude?: string;
}

/** What became of an execution. */
export interface CodeResult {
  /** The value of the code; `undefined` if it failed. */
  readonly result: unknown;
  readonly error?: string;
  /** The beginning and the end of the log. */
  readonly logs?: string[];
}

/** The context of the calls, without what an execution brings itself. */
export interface CodeExecutorOptions
  extends Pick<
    DispatchContext,
    "sandboxes" | "hooks" | "events" | "journal" | "principal" | "signal" | "redaction" | "unhandledErrors"
  > {
  /**
   * Decides on `run_program` and on the functions, whose names are `<provider>.<function>`. Default: everything is allowed,
   * since you pass the functions to each execution.
   */
  readonly policy?: RuntimePolicy;
  /** The limits of an execution under the default policy. Default: 1,000 calls, and those of the sandbox `quickjs`. */
  readonly limits?: ResourceLimits;
}

/** A function by the name of its tool. */
interface Member {
  readonly name: string;
  readonly run: CodeFunctions[string];
}

const IDENTIFIER = /^[A-Za-z_$][A-Za-z0-9_$]*$/;
/** Names that the program around the code has itself. */
const OWN_NAMES: readonly string[] = ["tools", "main"];
const MAX_CALLS = 1_000;

/**
 * Runs code as the `Executor` of `@cloudflare/codemode` does, so that one can take the place of the other: the code is an
 * async arrow function, which calls `codemode.<name>(input)`. Each execution is a program in a heap of its own, and each
 * call of a function goes through the engine.
 */
export class CodeExecutor {
  readonly #options: CodeExecutorOptions;
  /** One for all executions, whose check starts a thread. */
  readonly #program = runProgramTool("destructive", new ProgramChecker(), "");
  /** The registry of the last execution, whose tools are compiled. Executions mostly have the same functions. */
  #last: { readonly members: readonly Member[]; readonly registry: ToolRegistry } | undefined;
  #executions = 0;

  constructor(options: CodeExecutorOptions) {
    refuseUnknown(options, NAMES, "a CodeExecutor");
    this.#options = options;
  }

  /**
   * Executes code. Never rejects: what fails is the `error`.
   *
   * @param providersOrFns Functions, which are the members of `codemode`, or providers with names of their own.
   */
  async execute(
    code: string,
    providersOrFns: CodeFunctions | readonly CodeProvider[] = {},
  ): Promise<CodeResult> {
    try {
      const providers = Array.isArray(providersOrFns)
        ? (providersOrFns as readonly CodeProvider[])
        : [{ name: "codemode", fns: providersOrFns as CodeFunctions }];
      return await this.#run(code, providers);
    } catch (thrown) {
      return { result: undefined, error: describeThrown(thrown).message };
    }
  }

  async #run(code: string, providers: readonly CodeProvider[]): Promise<CodeResult> {
    const registry = this.#registryOf(providers);
    const { limits, policy = allowing(limits), ...context } = this.#options;
    const id = `execution-${++this.#executions}`;
    const call = { id, name: RUN_PROGRAM, arguments: { code: programOf(code, providers) } };
    const execution = await new ToolDispatchEngine().dispatch(call, {
      ...context,
      registry,
      policy,
      sessionId: id,
    });
    if (execution === null) return { result: undefined, error: "a hook aborted the execution" };
    const { error, output, work } = execution;
    const logs = work !== undefined && work.log.length > 0 ? { logs: [...work.log] } : {};
    return error === undefined
      ? { result: output, ...logs }
      : { result: undefined, error: error.message, ...logs };
  }

  #registryOf(providers: readonly CodeProvider[]): ToolRegistry {
    const members = membersOf(providers);
    if (this.#last === undefined || !areSame(this.#last.members, members))
      this.#last = { members, registry: registryOf(members, this.#program) };
    return this.#last.registry;
  }
}

function membersOf(providers: readonly CodeProvider[]): readonly Member[] {
  return providers.flatMap(({ name, fns }) => {
    if (!IDENTIFIER.test(name))
      throw new TypeError(`the name of a provider must be an identifier, not '${name}'`);
    if (OWN_NAMES.includes(name))
      throw new TypeError(`the name of a provider must not be '${name}', which programs have themselves`);
    return Object.entries(fns).map(([member, run]): Member => ({ name: `${name}.${member}`, run }));
  });
}

function areSame(some: readonly Member[], others: readonly Member[]): boolean {
  return (
    some.length === others.length &&
    some.every(({ name, run }, index) => name === others[index]?.name && run === others[index]?.run)
  );
}

function registryOf(members: readonly Member[], program: Tool): ToolRegistry {
  const registry = new ToolRegistry();
  for (const { name, run } of members) {
    registry.register({
      name,
      description: "",
      sideEffects: "destructive",
      // A call has any number of arguments.
      inputSchema: { type: "array" },
      host: (args: unknown[]) => run(...args),
    });
  }
  return registry.register(program);
}

/** The code with its providers, in a block of its own each, so that they do not see each other's variables. */
function programOf(code: string, providers: readonly CodeProvider[]): string {
  const members = (name: string): string =>
    `new Proxy({}, { get: (own, member) => typeof member !== "string" || Object.hasOwn(own, member) ? own[member]` +
    ` : (...args) => tools[${JSON.stringify(`${name}.`)} + member](args) })`;
  const declared = providers.map(
    ({ name, prelude = "" }) => `const ${name} = ${members(name)};${prelude === "" ? "" : `{${prelude}\n}`}`,
  );
  return `${declared.join("")}const main = (${code}\n);\nreturn typeof main === "function" ? await main() : main;`;
}

function allowing(limits: ResourceLimits | undefined): RuntimePolicy {
  const capabilities = { tools: ["*"] };
  const program = allow({ sandbox: "quickjs", limits: { nestedCalls: MAX_CALLS, ...limits }, capabilities });
  const host = allow({ sandbox: "host" });
  return { check: ({ tool }) => (tool.name === RUN_PROGRAM ? program : host) };
}
