import { basename } from "node:path";
import { checkDecision, type PolicySubject } from "../../../policy/policy.ts";
import {
  type SuggestedChange as PolicyChange,
  type SuggestedRule,
  suggestChange,
} from "../../../policy/remedy/suggest-change.ts";
import type { Redaction } from "../../../redaction/redaction.ts";
import type { SuggestedChange, Suggestion } from "../../../shapes/calls.ts";
import type { ConsoleCall } from "./console-call.ts";

/** What {@link CallSuggestions} needs of the server. */
export interface SuggestionParts {
  /** Hides secrets. A suggestion that would have one is withheld. */
  readonly redaction: Redaction;
  /** The tools of today. */
  readonly tools: () => readonly PolicySubject[];
}

/** The codes of calls that a person did not allow. */
const NOT_CONFIRMED: readonly string[] = ["user_denied", "confirmation_timeout"];
const SECRET = "a secret would be part of the rule: the command 'sandgate policy explain --suggest' shows it";

/** Finds suggestions for calls, one after the other, and each of them once. */
export class CallSuggestions {
  readonly #parts: SuggestionParts;
  readonly #found = new WeakMap<ConsoleCall, Promise<Suggestion | undefined>>();
  #last: Promise<unknown> = Promise.resolve();

  constructor(parts: SuggestionParts) {
    this.#parts = parts;
  }

  /** Returns `undefined` for a call that was not denied, or has not ended. */
  async for(record: ConsoleCall): Promise<Suggestion | undefined> {
    if (record.error === undefined) return undefined;
    let found = this.#found.get(record);
    if (found === undefined) {
      found = this.#last.then(() => suggestionFor(record, this.#parts)).catch(() => FAILED);
      this.#last = found;
      this.#found.set(record, found);
    }
    return found;
  }
}

const FAILED: Suggestion = { withheld: "no change was found: the policy failed" };

async function suggestionFor(
  { error, decision, decided, detail }: ConsoleCall,
  { redaction, tools }: SuggestionParts,
): Promise<Suggestion | undefined> {
  if (error === undefined || decision === undefined) return undefined;
  if (NOT_CONFIRMED.includes(error.code))
    return { withheld: "the policy asks a person about the call, who did not allow it" };
  if (error.code !== "permission_denied") return undefined;
  if (decided === undefined)
    return { withheld: "the arguments were too long to be kept: the call cannot be decided on again" };
  const { policy, request } = decided;
  const again = checkDecision(await policy.check(request));
  if (again.decision !== "deny" && again.grant !== undefined) {
    const by = (decision.decision === "deny" ? decision.reason : undefined) ?? detail ?? error.message;
    return { withheld: `the policy itself does not deny the call. What denied it: ${by}` };
  }
  if (redaction.finds(request.input)) return { withheld: SECRET };
  const suggestion = await suggestChange(policy, request, { tools: tools() });
  if ("withheld" in suggestion) return suggestion;
  const { exactly } = suggestion;
  if ([suggestion, exactly].some((change) => change && redaction.text(change.yaml) !== change.yaml))
    return { withheld: SECRET };
  return { ...shownChange(suggestion), ...(exactly && { exactly: shownChange(exactly) }) };
}

function shownChange({ decision, text, yaml, changes, widens }: PolicyChange): SuggestedChange {
  const where = [...new Set(changes.map(placeOf))].join(", ");
  return { decision, text, yaml, where, widens };
}

/** Clients do not learn where the server has its files. */
function placeOf({ kind, file, line }: SuggestedRule): string {
  if (file === undefined) return "the policy in code";
  const place = line === undefined ? basename(file) : `${basename(file)}:${line}`;
  return kind === "add" ? `the end of the rules, after ${place}` : place;
}
