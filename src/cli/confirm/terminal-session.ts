import type { ToolExecution } from "../../engine/call/execution.ts";
import type { DispatchableTurn } from "../../engine/engine.ts";
import type { CallInquiry, Inquiry, QuestionInquiry } from "../../sessions/confirmations/confirmation.ts";
import type { SessionMode } from "../../sessions/modes/mode.ts";
import type { SessionsOptions } from "../../sessions/options.ts";
import { openSessions, type Sessions } from "../../sessions/sessions.ts";
import type { Terminal } from "../terminal.ts";
import type { CallConfirmation, ToolQuestion } from "./confirmation.ts";
import { type Answered, Dialogue } from "./dialogue.ts";

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
  sessions.onInquiry((event) => {
    if (event.type !== "requested") return;
    answering = answering.then(() => confirm(sessions, dialogue, event.inquiry)).catch(() => {});
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

/** Has the person answer one confirmation. If the input has ended, it is denied. */
async function confirm(sessions: Sessions, dialogue: Dialogue, inquiry: Inquiry): Promise<void> {
  const { id, digest } = inquiry;
  if (inquiry.kind === "question") {
    const reply = (await dialogue.askQuestion(questionOf(inquiry))) ?? "deny";
    const answer = reply === "deny" ? { decision: reply } : { decision: "answer" as const, ...reply };
    await sessions.answer(id, { ...answer, digest, by: "terminal" });
    return;
  }
  let given: Answered = { decision: "deny" };
  await dialogue.ask([confirmationOf(inquiry)], async (_call, answer) => {
    given = answer;
  });
  await sessions.answer(id, { ...given, digest, by: "terminal" });
}

function questionOf({ shown, callId, principal, expiresAt }: QuestionInquiry): ToolQuestion {
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
}: CallInquiry): CallConfirmation {
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
