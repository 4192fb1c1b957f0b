import { createInterface, type Interface } from "node:readline";
import { beginning } from "../base/text.ts";
import type { ToolExecution } from "../engine/call/execution.ts";
import type { DispatchableTurn } from "../engine/engine.ts";
import { MAX_REASON_CHARS } from "../engine/errors.ts";
import { joinShown, type ShownText, shown } from "../rendering/shown.ts";
import type { CallConfirmation, Confirmation, ToolQuestion } from "../sessions/confirmations/confirmation.ts";
import type { SessionMode } from "../sessions/modes/mode.ts";
import type { SessionsOptions } from "../sessions/options.ts";
import { openSessions, type Sessions } from "../sessions/sessions.ts";
import type { QuestionAnswer } from "../tool/question.ts";
import {
  type AskedCall,
  type AskedQuestion,
  answerHelp,
  readAnswer,
  showConfirmation,
  shownId,
  showQuestion,
  showWhole,
  showWholeQuestion,
} from "./confirmation.ts";
import { print, type Terminal } from "./terminal.ts";

/** What a person decides on a call. */
type Decision = "allow" | "deny" | "always";

/** What a person answers about a call. */
export interface Answered {
  readonly decision: Decision;
  /** Why the call is denied, which the model reads. */
  readonly reason?: string;
}

const KEYS: ReadonlyMap<string, Decision> = new Map([
  ["y", "allow"],
  ["n", "deny"],
  ["a", "always"],
]);

/** Asks a person on the terminal, one question after the other. */
export class Dialogue implements Disposable {
  readonly #terminal: Terminal;
  readonly #input: Interface;
  readonly #lines: AsyncIterator<string>;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
    this.#input = createInterface({ input: terminal.stdin });
    this.#lines = this.#input[Symbol.asyncIterator]();
    const { signal } = terminal;
    if (signal?.aborted) this.#input.close();
    else signal?.addEventListener("abort", () => this.#input.close(), { once: true });
  }

  /**
   * Asks about the calls of one message: about all at once, or about each.
   *
   * @param answered Called with each answer at once, and awaited: the person can take their time for the next one. Not called for
   *   calls about which the person said nothing, as the input ended.
   */
  async ask<Call extends AskedCall>(
    calls: readonly Call[],
    answered: (call: Call, answer: Answered) => Promise<void>,
  ): Promise<void> {
    const shownCalls = calls.map(showConfirmation);
    await this.#print(
      joinShown(
        shownCalls.map(({ text }) => text),
        "\n\n",
      ),
    );
    const partial = calls.filter((_, index) => shownCalls[index]?.isPartial);
    if (calls.length > 1) {
      const all = await this.#choose(
        shown`${calls.length} calls of one message: all of them`,
        partial,
        ["e: each"],
        choicesOf(calls),
      );
      if (all !== "each") {
        if (all !== undefined) for (const call of calls) await answered(call, all);
        return;
      }
    }
    for (const call of calls) {
      const hidden = partial.includes(call) ? [call] : [];
      const answer = await this.#choose(
        shown`call '${shownId(call.callId)}' of '${call.toolName}'`,
        hidden,
        [],
        choicesOf([call]),
        [call],
      );
      if (answer !== undefined && answer !== "each") await answered(call, answer);
    }
  }

  /**
   * Asks for one decision. What was left out or hidden is shown before anything is allowed.
   *
   * @param whole The calls whose whole arguments can be shown.
   */
  async #choose(
    about: ShownText,
    partial: readonly AskedCall[],
    more: readonly string[],
    choices: readonly Decision[],
    whole: readonly AskedCall[] = partial,
  ): Promise<Answered | "each" | undefined> {
    let isHidden = partial.length > 0;
    const keys = [...KEYS].filter(([, decision]) => choices.includes(decision));
    const help = [
      ...keys.map(([key, decision]) => `${key}: ${decision}`),
      "n REASON: tell the model why",
      ...more,
      "w: show the whole",
    ].join(", ");
    for (;;) {
      await this.#print(shown`${about} (${help})?`);
      const line = await this.#lines.next();
      if (line.done) return undefined;
      const key = line.value.trim().toLowerCase();
      const [, reason] = /^n\s+(\S.*)$/is.exec(line.value.trim()) ?? [];
      if (key === "e" && more.length > 0) return "each";
      const decision = reason === undefined ? KEYS.get(key) : "deny";
      const isKnown = decision !== undefined && choices.includes(decision);
      if (isKnown && (decision === "deny" || !isHidden))
        return { decision, ...(reason !== undefined && { reason: beginning(reason, MAX_REASON_CHARS) }) };
      if (isKnown) await this.#print(shown`something was not shown: here it is, please decide again`);
      if (key !== "w" && !isKnown) continue;
      for (const call of isHidden ? partial : whole) await this.#print(showWhole(call));
      isHidden = false;
    }
  }

  /**
   * Asks a question of a tool. What was left out or hidden is shown before an answer is taken.
   *
   * @returns the answer; `"deny"` if the person declines to answer, and `undefined` if the input ended.
   */
  async askQuestion(asked: AskedQuestion): Promise<{ readonly answer: QuestionAnswer } | "deny" | undefined> {
    const { text, isPartial } = showQuestion(asked);
    let isHidden = isPartial;
    await this.#print(text);
    for (;;) {
      await this.#print(
        shown`your answer to call '${shownId(asked.callId)}' (${answerHelp(asked, isHidden)})?`,
      );
      const line = await this.#lines.next();
      if (line.done) return undefined;
      if (line.value.trim() === "") return "deny";
      if (isHidden) {
        if (line.value.trim() !== "?")
          await this.#print(shown`something was not shown: here it is, please answer again`);
        await this.#print(showWholeQuestion(asked));
        isHidden = false;
        continue;
      }
      const answer = readAnswer(line.value, asked);
      if (answer !== undefined) return { answer };
    }
  }

  #print(text: ShownText): Promise<void> {
    return print(this.#terminal.stderr, text);
  }

  [Symbol.dispose](): void {
    this.#input.close();
  }
}

/** The decisions that all the calls accept. */
function choicesOf(calls: readonly AskedCall[]): readonly Decision[] {
  return [...KEYS.values()].filter((decision) => calls.every(({ choices }) => choices.includes(decision)));
}

/**
 * Dispatches the calls of a message in a session in memory, whose confirmations the person at the terminal answers.
 *
 * @returns one result for each call.
 */
export async function dispatchWithConfirmations(
  { calls }: DispatchableTurn,
  { mode, ...options }: SessionsOptions & { readonly mode: SessionMode },
  terminal: Terminal,
): Promise<readonly (ToolExecution | null)[]> {
  const sessions = await openSessions(options);
  using dialogue = new Dialogue(terminal);
  let answering = Promise.resolve();
  sessions.onConfirmation((event) => {
    if (event.type !== "requested") return;
    answering = answering.then(() => confirm(sessions, dialogue, event.confirmation)).catch(() => {});
  });
  const session = await sessions.open({ mode });
  const { signal } = terminal;
  const cancel = (): void => void session.cancel();
  signal?.addEventListener("abort", cancel, { once: true });
  try {
    const turn = session.turn();
    const results = turn.dispatchAll(calls);
    if (signal?.aborted) await turn.cancel();
    return await results;
  } finally {
    signal?.removeEventListener("abort", cancel);
    await sessions.close();
  }
}

/** Asks the person to answer one confirmation. If the input has ended, it is denied. */
async function confirm(sessions: Sessions, dialogue: Dialogue, confirmation: Confirmation): Promise<void> {
  const { id, digest } = confirmation;
  if (confirmation.kind === "question") {
    const reply = (await dialogue.askQuestion(questionOf(confirmation))) ?? "deny";
    const answer = reply === "deny" ? { decision: reply } : { decision: "answer" as const, ...reply };
    await sessions.answer(id, { ...answer, digest, by: "terminal" });
    return;
  }
  let given: Answered = { decision: "deny" };
  await dialogue.ask([confirmationOf(confirmation)], async (_call, answer) => {
    given = answer;
  });
  await sessions.answer(id, { ...given, digest, by: "terminal" });
}

function questionOf({ shown, callId, principal, expiresAt }: ToolQuestion): AskedQuestion {
  const { toolName, question, options, multiple } = shown;
  return {
    principal: principal ?? "the message",
    callId,
    toolName,
    question,
    multiple,
    expiresAt,
    ...(options && { options }),
  };
}

function confirmationOf({
  shown,
  sessionId,
  turnId,
  messageId,
  callId,
  principal,
  choices,
  expiresAt,
}: CallConfirmation): AskedCall {
  const { toolName, sideEffects, arguments: args, projectedChanges, question, grant } = shown;
  return {
    messageKey: JSON.stringify([sessionId, turnId, messageId]),
    principal: principal ?? "the message",
    callId,
    toolName,
    sideEffects,
    arguments: args,
    projectedChanges,
    question,
    grant,
    choices,
    expiresAt,
  };
}
