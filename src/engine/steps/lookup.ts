import { suggest } from "../../base/unknown-names.ts";
import { compileNamePattern } from "../../policy/match/name-pattern.ts";
import { deniedText, MAX_NAMES_LISTED, notFoundText } from "../errors.ts";
import { type Caller, mayCall } from "../nested.ts";
import { denial, invalid, Refusal } from "../refusal.ts";
import type { ToolRegistry } from "../registry.ts";
import { aliasOf, type CallState } from "../state.ts";

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
export function refusalOf(
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
