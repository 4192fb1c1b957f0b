import { beginning } from "../../base/text.ts";
import type { ConfirmationRequest } from "../../engine/call/confirmation.ts";
import type { Redaction } from "../../redaction/redaction.ts";
import { inputSummary } from "../../rendering/input-summary.ts";
import type { ShownCall } from "./inquiry.ts";

/** What a person is shown besides the request. */
export interface ShownCallOptions {
  readonly redaction: Redaction;
  /** What the tool says that it would change. Default: nothing. */
  readonly projectedChanges?: readonly string[];
}

/** The most changes that are shown, and the most characters of each. */
const MAX_CHANGES = 100;
const MAX_CHANGE_LENGTH = 1_000;

/** Returns what a person is shown of a call, frozen. */
export function shownCall(
  { tool, canonical, question, grant, rules }: ConfirmationRequest,
  { redaction, projectedChanges = [] }: ShownCallOptions,
): ShownCall {
  const { text, missing, isPartial } = inputSummary(canonical, { redaction });
  return Object.freeze({
    toolName: tool.name,
    sideEffects: tool.sideEffects,
    inputSummary: Object.freeze({ text, missing, isPartial }),
    arguments: canonical.text,
    projectedChanges: Object.freeze(
      projectedChanges.slice(0, MAX_CHANGES).map((change) => beginning(change, MAX_CHANGE_LENGTH)),
    ),
    ...{ question, grant, rules },
  });
}
