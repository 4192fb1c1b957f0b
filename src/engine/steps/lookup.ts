import { notFoundText } from "../call/errors.ts";
import { type Caller, mayCall } from "../call/nested.ts";
import { denial, Refusal } from "../call/refusal.ts";
import type { CallState } from "../call/state.ts";
import type { ToolRegistry } from "../registry.ts";

/**
 * Sets `registered`, the tool of the call's name.
 *
 * @throws {Refusal} `validation_error` if the call is malformed, `permission_denied` if the caller may not call the
 *   tool, `not_found` if there is no such tool.
 */
export function lookUp(call: CallState): undefined {
  const { caller, received } = call;
  const { registry } = call.ctx;
  const { name, problem } = received;
  if (problem !== undefined) throw new Refusal("validation_error", problem);
  // A tool must not learn even the names of tools that it may not call.
  if (caller !== undefined && !mayCall(caller, name))
    throw denial(name, "caller", "the tool is not in the caller's grant");
  call.registered = registry.find(name);
  if (call.registered === undefined) throw notFound(name, registry, caller);
}

function notFound(name: string, registry: ToolRegistry, caller: Caller | undefined): Refusal {
  const names = registry.names.filter((each) => caller === undefined || mayCall(caller, each));
  return new Refusal("not_found", notFoundText(name, names));
}
