import { describeThrown } from "../../base/thrown.ts";
import { race } from "../../base/timers/race.ts";
import { problemText, readProblem } from "../../schema/argument-problem.ts";
import type { PreflightContext } from "../../tool/preflight.ts";
import { executionErrorText, invalidArgumentsText, notValidatedText } from "../errors.ts";
import type { PlacedCall } from "../in-flight/state.ts";
import { cancelled, invalid } from "../refusal.ts";
import { refusalOf } from "./lookup.ts";

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
