import { describeThrown } from "../../base/thrown.ts";
import { race } from "../../base/timers.ts";
import { CanonicalJson } from "../../json/canonical.ts";
import { problemText, readProblem } from "../../schema/arguments.ts";
import type { PreflightContext } from "../../tool/tool-traits.ts";
import { checkArguments } from "../call.ts";
import { checkDeclaredArguments, type DeclaredPath } from "../declared-arguments.ts";
import { executionErrorText, invalidArgumentsText, notValidatedText, ofTool } from "../errors.ts";
import { cancelled, denial, invalid } from "../refusal.ts";
import { type FoundCall, type ParsedCall, type PlacedCall, shownName } from "../state.ts";
import { refusalOf } from "./lookup.ts";

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

/** The most problems that the model reads. */
const MAX_PROBLEMS = 10;

/**
 * Has the tool check a call that has its grant, if it declares a `preflight`: so no person is asked about a call that
 * cannot run.
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
