import { canonicalText } from "../../../src/json/canonical.ts";
import type { Fault } from "../check.ts";
import type { Vector } from "../vector.ts";
import type { Run } from "../world.ts";
import type { GivenAnswer, Shelf, Shown } from "./shelf.ts";

/** Returns what went wrong in an interleaving with another library. */
export function faultsOfPeer(
  vector: Vector,
  runs: readonly Run[],
  shelf: Shelf,
  hasEnded: boolean,
): readonly Fault[] {
  if (!hasEnded) return ["lost"];
  const faults = new Set<Fault>();
  const answers = shelf.answers.filter(({ outcome }) => outcome !== "refused");
  const accepted = shelf.answers.filter(({ outcome }) => outcome === "accepted");
  const reads = vector.messages.flatMap(({ calls }) => calls).filter(({ name }) => name === "read");
  const writes = runs.filter((run) => !reads.some((call) => textOf(call.arguments) === run.arguments));
  const calls = new Map<string, number>();
  for (const run of writes) {
    const allowed = answers.filter((answer) => covers(answer, run));
    if (allowed.length === 0) {
      const isOtherDefinition = answers.some(
        ({ shown, isAllowed }) => isAllowed && isOf(shown, run) && shown.arguments === run.arguments,
      );
      const wasShown = [...shelf.shown.values()].some((shown) => isOf(shown, run) && isSame(shown, run));
      faults.add(wasShown && !isOtherDefinition ? "rejected but run" : "wrong arguments");
    }
    const original = allowed[0]?.shown.arguments ?? run.arguments;
    const call = JSON.stringify([run.key, original]);
    calls.set(call, (calls.get(call) ?? 0) + 1);
    const isRejected = ({ shown, isAllowed }: GivenAnswer) =>
      !isAllowed && isOf(shown, run) && shown.arguments === original;
    if (accepted.some(isRejected)) faults.add("rejected but run");
  }
  if ([...calls.values()].some((count) => count > 1)) faults.add("double");
  const isDisturbed = vector.actors
    .flat()
    .some((step) => ["policy", "definition", "fail-store"].includes(step.do));
  const isLost = (answer: GivenAnswer) => answer.isAllowed && !writes.some((run) => covers(answer, run));
  // Otherwise the call has run, though not as it was allowed.
  if (!isDisturbed && !faults.has("wrong arguments") && accepted.some(isLost)) faults.add("lost");
  return [...faults];
}

/** Whether a person allowed a run as it was: the call, its arguments and the definition. */
function covers({ shown, isAllowed, isAlways, arguments: edited }: GivenAnswer, run: Run): boolean {
  if (!isAllowed) return false;
  if (isAlways && run.key.startsWith(`[${JSON.stringify(shown.session)},`)) return true;
  if (!isOf(shown, run)) return false;
  return edited === undefined ? isSame(shown, run) : textOf(edited) === run.arguments;
}

function isOf({ session, callId }: Shown, run: Run): boolean {
  return run.key === JSON.stringify([session, callId]);
}

function isSame({ arguments: text, definition }: Shown, run: Run): boolean {
  return text === run.arguments && definition === run.definition;
}

function textOf(value: unknown): string {
  return canonicalText(value as Parameters<typeof canonicalText>[0]);
}
