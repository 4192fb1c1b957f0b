import { formatDuration } from "../base/units.ts";
import { CanonicalJson } from "../json/canonical.ts";
import { parseAnswer } from "../json/parse-answer.ts";
import { Redaction } from "../redaction/redaction.ts";
import { toTerminalLines } from "../rendering/lines.ts";
import { render } from "../rendering/render.ts";
import { joinShown, type ShownText, shown } from "../rendering/shown.ts";
import { inputSummary, textSummary } from "../rendering/text-summary.ts";
import { answerProblem, type QuestionAnswer } from "../tool/question.ts";

/** A question of a tool to the person at the terminal. Its texts may be hostile. */
export interface AskedQuestion {
  readonly principal: string | undefined;
  readonly callId: string;
  readonly toolName: string;
  /** The whole question, with secrets. */
  readonly question: string;
  /** The answers to choose from; absent if the answer is any text. */
  readonly options?: readonly string[];
  readonly multiple: boolean;
  /** In milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** A call that waits for a confirmation. Its texts may be hostile. */
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

/** Maximum number of characters of a call's id that are shown. */
const MAX_ID_CHARS = 64;

/** Terminals have a history, and people share it. */
const REDACTION = new Redaction();

/** Shows what a person decides on. Returns whether anything of the arguments was left out or hidden. */
export function showConfirmation(call: AskedCall): {
  readonly text: ShownText;
  readonly isPartial: boolean;
} {
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

/** Shows a question. Returns whether anything of it was left out or hidden. */
export function showQuestion(asked: AskedQuestion): {
  readonly text: ShownText;
  readonly isPartial: boolean;
} {
  const { principal = "a client", toolName, callId, question, options = [] } = asked;
  const summary = textSummary(question, { redaction: REDACTION, keepsLines: true });
  const left = formatDuration(Math.max(0, Math.round((asked.expiresAt - Date.now()) / 1_000)) * 1_000);
  const lines = [
    shown`a call of ${principal} to '${toolName}' (call '${shownId(callId)}') asks a question; ${left} left to answer`,
    toTerminalLines(summary),
    ...(summary.missing === "" ? [] : [shown`  not shown: ${summary.missing}`]),
    ...options.map((option, index) => shown`  ${index + 1}: ${option}`),
  ];
  return { text: joinShown(lines, "\n"), isPartial: summary.isPartial };
}

/** Shows the whole question, secrets included. */
export function showWholeQuestion({ question, callId }: AskedQuestion): ShownText {
  return joinShown(
    [
      shown`the whole question of call '${shownId(callId)}':`,
      toTerminalLines(render(question, { keepsLines: true })),
    ],
    "\n",
  );
}

/** What the person can enter. */
export function answerHelp({ options, multiple }: AskedQuestion, isHidden: boolean): string {
  const form =
    options === undefined
      ? "one line"
      : multiple
        ? "numbers, separated by commas"
        : "the number of an answer";
  return `${form}, an empty line: decline to answer${isHidden ? ", ?: show the whole" : ""}`;
}

/** Reads a line as an answer; `undefined` if it is none. */
export function readAnswer(line: string, asked: AskedQuestion): QuestionAnswer | undefined {
  const { options, multiple } = asked;
  const answer = options === undefined ? line : chosen(line, options, multiple);
  const isAnswer = answerProblem({ ...(options && { choices: options }), multiple }, answer) === undefined;
  return isAnswer ? (answer as QuestionAnswer) : undefined;
}

function chosen(line: string, options: readonly string[], multiple: boolean): unknown {
  const numbers = multiple ? line.split(",") : [line];
  const answers = numbers.map((number) =>
    /^\s*\d+\s*$/.test(number) ? options[Number(number) - 1] : undefined,
  );
  return multiple ? answers : answers[0];
}
