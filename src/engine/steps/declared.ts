import { checkDeclaredArguments, type DeclaredPath } from "../arguments/declared-paths.ts";
import { shownName } from "../in-flight/shown-name.ts";
import type { ParsedCall } from "../in-flight/state.ts";

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
