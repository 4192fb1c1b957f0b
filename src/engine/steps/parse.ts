import { describeThrown } from "../../base/thrown.ts";
import { race } from "../../base/timers.ts";
import { suggest } from "../../base/unknown-names.ts";
import { CanonicalJson } from "../../json/canonical.ts";
import { compileNamePattern } from "../../policy/match/name-pattern.ts";
import { problemText, readProblem } from "../../schema/arguments.ts";
import type { PreflightContext } from "../../tool/tool-traits.ts";
import { checkArguments } from "../call.ts";
import { checkDeclaredArguments, type DeclaredPath } from "../declared-arguments.ts";
import {
  deniedText,
  executionErrorText,
  invalidArgumentsText,
  MAX_NAMES_LISTED,
  notFoundText,
  notValidatedText,
  ofTool,
} from "../errors.ts";
import { type Caller, mayCall } from "../nested.ts";
import { cancelled, denial, invalid, Refusal } from "../refusal.ts";
import type { ToolRegistry } from "../registry.ts";
import {
  aliasOf,
  type CallState,
  type FoundCall,
  type ParsedCall,
  type PlacedCall,
  shownName,
} from "../state.ts";

/**
 * Sets `registered`, the tool of the call's name.
 *
 * @throws {Refusal} `validation_error` if the call is malformed, `permission_denied` if the caller may not call the
 *   tool or its definition was not approved, `not_found` if there is no such tool.
 */
export function lookUp(call: CallState): undefined {
  const { caller, received } = call;
  const { registry } = call.ctx;
  const { name, problem } = received;
  if (problem !== undefined) throw invalid(problem, [{ path: "", message: problem }]);
  // A tool must not learn even the names of tools that it may not call.
  if (caller !== undefined && !mayCall(caller, name)) {
    const text = misspeltText(name, registry, caller);
    if (text !== undefined) throw new Refusal("not_found", text);
    throw denial(name, "caller", "the tool is not in the caller's grant");
  }
  const registered = registry.find(name);
  if (registered === undefined) throw notFound(call);
  if (!registry.isApproved(registered))
    throw denial(name, "definition", "the lock has another definition, or none");
  call.registered = registered;
}

/** The number of registered tools that are compared with the grant of a caller. */
const MAX_EXAMINED = 1_000;

function notFound({ caller, ctx, received }: CallState): Refusal {
  const { registry, toolAlias } = ctx;
  if (caller !== undefined) return new Refusal("not_found", notCallableText(received.name, registry, caller));
  const names = registry.firstNames(MAX_NAMES_LISTED);
  const listed = toolAlias === undefined ? names : names.map((each) => aliasOf(each, toolAlias));
  return new Refusal("not_found", notFoundText(received.name, listed, othersThan(listed, registry)));
}

/** The text for a tool that does not exist, with those that the caller may call. */
function notCallableText(name: string, registry: ToolRegistry<never>, caller: Pick<Caller, "grant">): string {
  const callable = registry.firstNames(MAX_EXAMINED).filter((each) => mayCall(caller, each));
  const listed = callable.slice(0, MAX_NAMES_LISTED);
  const more = registry.size > MAX_EXAMINED ? "some" : callable.length - listed.length;
  return notFoundText(name, listed, more, suggest(name, callable));
}

/**
 * The text for a name that is most likely a misspelt one of a tool that the caller may call; `undefined` for any other. It does
 * not depend on whether there is a tool of this name.
 */
function misspeltText(
  name: string,
  registry: ToolRegistry<never>,
  caller: Pick<Caller, "grant">,
): string | undefined {
  const callable = registry.firstNames(MAX_EXAMINED).filter((each) => mayCall(caller, each));
  return suggest(name, callable) === undefined ? undefined : notCallableText(name, registry, caller);
}

/**
 * Whether a call of the tool would be looked up successfully.
 *
 * @param caller The call whose tool would make it; `undefined` for the model.
 */
export function canCall(
  name: string,
  registry: ToolRegistry<never>,
  caller: Pick<Caller, "grant"> | undefined,
): boolean {
  if (caller !== undefined && !mayCall(caller, name)) return false;
  const found = registry.find(name);
  return found !== undefined && registry.isApproved(found);
}

/** Returns the names of the tools for which {@link canCall} is true, in order of registration. */
export function callableNames(
  registry: ToolRegistry<never>,
  { grant }: Pick<Caller, "grant">,
): readonly string[] {
  const patterns = (grant.capabilities.tools ?? []).map(compileNamePattern);
  return registry.namesThat((name) => patterns.some((pattern) => pattern.matches(name)));
}

/** Returns why {@link canCall} is false for a tool's call, as the model reads it; `undefined` if it is true. */
function refusalOf(
  name: string,
  registry: ToolRegistry<never>,
  caller: Pick<Caller, "grant">,
): string | undefined {
  if (canCall(name, registry, caller)) return undefined;
  if (!mayCall(caller, name)) return misspeltText(name, registry, caller) ?? deniedText(name, "caller");
  return registry.has(name) ? deniedText(name, "definition") : notCallableText(name, registry, caller);
}

/** The number of tools that are not listed. With pins, they are not counted, since some may not be offered. */
function othersThan(listed: readonly string[], registry: ToolRegistry<never>): number | "some" {
  if (registry.pins === undefined) return registry.size - listed.length;
  return registry.firstNames(MAX_NAMES_LISTED + 1).length > listed.length ? "some" : 0;
}

/**
 * Sets `input` to the arguments as the tool's schema and its own validation accept them, deeply frozen, and `canonical`.
 *
 * @throws {Refusal} `validation_error` with every problem, `permission_denied` if the context denies secrets.
 */
export function readArguments(call: FoundCall): undefined {
  // A tool that makes a call writes its arguments as JSON, whatever tool it calls.
  readInput(call, call.caller !== undefined);
}

/**
 * Does the same with arguments that a person wrote: for a free-form tool, a string is the input itself.
 *
 * @throws {Refusal} like {@link readArguments}.
 */
export function readEditedArguments(call: FoundCall): void {
  readInput(call, false);
}

function readInput(call: FoundCall, isJson: boolean): void {
  const checked = checkArguments(call.input, call.registered, isJson);
  if (!("value" in checked)) {
    // A program makes many calls, and reads the text alone.
    const message = call.caller === undefined ? checked.message : ofTool(shownName(call), checked.message);
    throw invalid(message, checked.problems, checked.detail);
  }
  call.input = checked.value;
  call.canonical = new CanonicalJson(checked.value);
  const { redaction } = call.ctx;
  if (redaction?.onSecretArgument === "deny" && redaction.finds(checked.value)) {
    throw denial(shownName(call), "secret", "the redaction denies calls with secrets in their arguments");
  }
}

/**
 * Checks the paths and URLs that the tool declares, and sets `declaredPaths`. Nobody is asked about a call whose paths lead
 * out of the session's workspace. What is there can change until the call runs, so whatever opens the paths checks them
 * again.
 *
 * @throws {Refusal} `permission_denied`, `validation_error`.
 */
export function checkDeclared(call: ParsedCall): undefined | Promise<undefined> {
  const { registered, input, ctx } = call;
  const { declared } = registered;
  if (declared === undefined) return undefined;
  const checked = checkDeclaredArguments(declared, input, ctx.workspace, shownName(call));
  return checked instanceof Promise ? checked.then((paths) => set(call, paths)) : set(call, checked);
}

function set(call: ParsedCall, paths: readonly DeclaredPath[]): undefined {
  call.declaredPaths = paths;
}

/** Maximum number of problems that the model reads. */
const MAX_PROBLEMS = 10;

/**
 * Lets the tool check a call that has its grant, if it declares a `preflight`: so no person is asked about a
 * call that cannot run.
 *
 * @throws {Refusal} `validation_error` with the problems; `cancelled`.
 */
export function preflight(call: PlacedCall): undefined | Promise<undefined> {
  // A call that was suspended was checked before, and runs what it had then.
  if (call.registered.tool.preflight === undefined || call.received.isSuspended === true) return undefined;
  return preflightLater(call);
}

async function preflightLater(call: PlacedCall): Promise<undefined> {
  const { signal } = call.ctx;
  const checking = problemsOf(call);
  const problems = await race(checking, { signals: [signal] });
  if (problems === "aborted") throw cancelled();
  if (problems.length === 0) return;
  const found = problems.slice(0, MAX_PROBLEMS).map(readProblem);
  throw invalid(executionErrorText(invalidArgumentsText(found.map(problemText))), found);
}

/** @throws {Refusal} if the tool's own check throws, or returns anything but a list of strings. */
async function problemsOf(call: PlacedCall): Promise<readonly string[]> {
  try {
    const returned: unknown = await call.registered.tool.preflight?.(call.input as never, contextOf(call));
    if (Array.isArray(returned) && returned.every((problem) => typeof problem === "string")) return returned;
    throw new TypeError("the tool's preflight did not return a list of strings");
  } catch (thrown) {
    const message = notValidatedText();
    throw invalid(message, [{ path: "", message }], describeThrown(thrown).detail);
  }
}

function contextOf({ ctx, grant, principal }: PlacedCall): PreflightContext {
  const { registry, signal, embedder } = ctx;
  return {
    refusalOf: (name) => refusalOf(name, registry, { grant }),
    problemsOf: (name, args) => {
      if (!registry.has(name)) return [];
      const checked = registry.validate(name, JSON.stringify(args));
      return "problems" in checked ? checked.problems : [];
    },
    principal,
    embedder,
    signal,
  };
}
