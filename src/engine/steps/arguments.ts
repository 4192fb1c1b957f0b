import { CanonicalJson } from "../../json/canonical.ts";
import { checkArguments } from "../arguments/check-arguments.ts";
import { checkDeclaredArguments, type DeclaredPath } from "../arguments/declared-paths.ts";
import { ofTool } from "../errors.ts";
import type { FoundCall, ParsedCall } from "../in-flight/state.ts";
import { shownName } from "../in-flight/state.ts";
import { denial, invalid } from "../refusal.ts";

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
