import { isThenable, toPromise } from "../../base/promises.ts";
import { race } from "../../base/timers/race.ts";
import type { PolicySubject } from "../../policy/policy.ts";
import type { AskForTask, AskForTaskOptions } from "../../sandboxes/contract/task.ts";
import { answerProblem, checkQuestion, copyAnswer } from "../../tool/questions/check-question.ts";
import type { QuestionAnswer } from "../../tool/questions/question.ts";
import {
  declinedToAnswer,
  nobodyAnswered,
  nobodyToAsk,
  questionCancelled,
} from "../../tool/questions/question-failures.ts";
import { changesNothing } from "../../tool/side-effects.ts";
import { ToolFailure } from "../../tool/tool-failure.ts";
import type { AskUser, QuestionReply, QuestionRequest } from "../call/question.ts";
import type { PlacedCall } from "../in-flight/state.ts";
import { questionRequest } from "./question-request.ts";

/** The most answers of a call that its execution names. */
const MAX_ANSWERS = 100;

/**
 * Returns the function through which the tool of a call asks a person. Nobody is asked for a nested call unless the wall
 * time of its callers can stand still while a person thinks.
 */
export function questionAsker(call: PlacedCall): AskForTask {
  const { ctx, caller } = call;
  const { ask } = ctx;
  if (ask === undefined || (caller !== undefined && caller.pause === undefined)) {
    return NOBODY[effectOf(call.registered.subject)];
  }
  let count = 0;
  return async (given, options) => {
    const request = questionRequest(call, ++count, checkQuestion(given));
    const effect = effectOf(request.tool);
    if (options.signal.aborted) throw questionCancelled(effect);
    const resumeCallers = caller?.pause?.();
    const resume = options.pause();
    ctx.turn?.waits();
    try {
      return await answerTo(call, ask, request, options);
    } catch (thrown) {
      // What else the context's function throws is not for the model.
      throw thrown instanceof ToolFailure ? thrown : nobodyToAsk(effect);
    } finally {
      ctx.turn?.begins();
      resume();
      resumeCallers?.();
    }
  };
}

async function answerTo(
  call: PlacedCall,
  ask: AskUser,
  request: QuestionRequest,
  { signal }: AskForTaskOptions,
): Promise<QuestionAnswer> {
  const asked: unknown = ask(request, signal);
  const reading = (isThenable(asked) ? toPromise(asked) : Promise.resolve(asked)).then((reply) =>
    readReply(reply as QuestionReply, request, call),
  );
  const answer = await race(
    reading.then((value) => ({ value })),
    { signals: [signal] },
  );
  if (answer === "aborted") throw questionCancelled(effectOf(request.tool));
  return answer.value;
}

/** Reads each member once: an answer of foreign code may be another one the next time. */
function readReply(reply: QuestionReply, request: QuestionRequest, call: PlacedCall): QuestionAnswer {
  const { decision, answer: given, by, afterMs } = (reply ?? {}) as Partial<Record<string, unknown>>;
  const effect = effectOf(request.tool);
  switch (decision) {
    case "answer": {
      const answer = copyAnswer(given);
      if (answerProblem(request, answer) !== undefined) break;
      keepAnswer(call, request, decision, by);
      return answer;
    }
    case "deny":
      keepAnswer(call, request, decision, by);
      throw declinedToAnswer(effect);
    case "timeout":
      throw nobodyAnswered(afterMs, effect);
    case "cancelled":
      throw questionCancelled(effect);
  }
  throw nobodyToAsk(effect);
}

/** Keeps who answered, for the execution. What comes after the end of the call is dropped. */
function keepAnswer(
  call: PlacedCall,
  { digest }: QuestionRequest,
  decision: "answer" | "deny",
  by: unknown,
): void {
  const kept = call.questions ?? [];
  if (typeof by !== "string" || kept.length >= MAX_ANSWERS) return;
  call.questions = [...kept, Object.freeze({ by, decision, digest })];
}

/** Asking changes nothing. What else the tool did before it asked is not known, unless it changes nothing at all. */
function effectOf({ sideEffects }: PolicySubject): "none" | "unknown" {
  return changesNothing(sideEffects) ? "none" : "unknown";
}

/** Shared by all calls for which nobody can be asked: a function for each would slow down calls that never ask. */
const NOBODY: Readonly<Record<"none" | "unknown", AskForTask>> = {
  none: () => Promise.reject(nobodyToAsk("none")),
  unknown: () => Promise.reject(nobodyToAsk("unknown")),
};
