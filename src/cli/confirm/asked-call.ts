import { formatDuration } from "../../base/units.ts";
import { CanonicalJson } from "../../json/canonical.ts";
import { parseAnswer } from "../../json/parse-answer.ts";
import { Redaction } from "../../redaction/redaction.ts";
import { inputSummary } from "../../rendering/input-summary.ts";
import { toTerminalLines } from "../../rendering/lines.ts";
import { render } from "../../rendering/render.ts";
import { joinShown, shown } from "../../rendering/shown.ts";
import type { ShownText } from "../../rendering/shown-text.ts";

/** A call about which a person is asked. Its texts may be hostile. */
export interface AskedCall {
  /** The calls of one assistant message have the same. */
  readonly messageKey: string;
  readonly principal: string | undefined;
  readonly callId: string;
  readonly toolName: string;
  readonly sideEffects: string;
  /** The arguments as whole JSON text, with secrets. */
  readonly arguments: string;
  readonly projectedChanges: readonly string[];
  readonly question: string;
  readonly grant: { readonly sandbox: string; readonly limits: object; readonly capabilities: object };
  readonly choices: readonly string[];
  /** In milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** The most characters of a call's id that are shown. */
const MAX_ID_CHARS = 64;

/** Terminals keep what they show, and people share it. */
const REDACTION = new Redaction();

/** Shows what a person decides on. Returns whether anything of the arguments was left out or hidden. */
export function showAskedCall(call: AskedCall): { readonly text: ShownText; readonly isPartial: boolean } {
  const { principal = "a client", toolName, sideEffects, callId, grant, question, projectedChanges } = call;
  const summary = inputSummary(new CanonicalJson(parseAnswer(call.arguments)), { redaction: REDACTION });
  const left = formatDuration(Math.max(0, Math.round((call.expiresAt - Date.now()) / 1_000)) * 1_000);
  const lines = [
    shown`${principal} asks to call '${toolName}' (${sideEffects}, call '${shownId(callId)}'); ${left} left to answer`,
    toTerminalLines(summary),
    ...(summary.missing === "" ? [] : [shown`  not shown: ${summary.missing}`]),
    shown`  question: ${question}`,
    ...projectedChanges.map((change) => shown`  it says that it would change: ${change}`),
    shown`  it would run in ${grant.sandbox} with limits ${JSON.stringify(grant.limits)} and capabilities ${JSON.stringify(grant.capabilities)}`,
  ];
  return { text: joinShown(lines, "\n"), isPartial: summary.isPartial };
}

/**
 * Returns the id of a call for a line of Sandgate's own words: a model chooses it, and must not end the quotes around it.
 */
export function shownId(callId: string): string {
  const plain = callId.slice(0, MAX_ID_CHARS).replaceAll(/[^\w.:@-]/g, "·");
  return callId.length > MAX_ID_CHARS ? `${plain}…` : plain;
}

/** Shows the whole arguments, secrets included. */
export function showWhole(call: AskedCall): ShownText {
  return joinShown(
    [
      shown`the whole arguments of call '${shownId(call.callId)}':`,
      toTerminalLines(render(call.arguments, { syntax: "json" })),
    ],
    "\n",
  );
}
