import { CanonicalJson } from "../../json/canonical.ts";
import type { JsonObject } from "../../json/value.ts";
import type { Question } from "../../tool/questions/question.ts";
import type { QuestionRequest } from "../call/question.ts";
import type { PlacedCall } from "../in-flight/state.ts";

/**
 * Returns what a person is asked for a tool, frozen.
 *
 * @param number Which question of the call it is, from 1 on.
 */
export function questionRequest(call: PlacedCall, number: number, given: Question): QuestionRequest {
  const { received, ctx, principal, caller, registered } = call;
  const { id: callId } = received;
  const { sessionId, turnId, messageId } = ctx;
  const { question, choices, multiple = false, timeoutMs } = given;
  const shown: JsonObject = {
    ...{ sessionId, turnId: turnId ?? null, messageId: messageId ?? null, callId, number },
    ...{ definitionDigest: registered.definition.digest, question, choices: choices ?? null, multiple },
  };
  return Object.freeze({
    ...{ callId, sessionId, tool: registered.subject, question, multiple },
    ...(turnId !== undefined && { turnId }),
    ...(messageId !== undefined && { messageId }),
    ...(principal !== undefined && { principal }),
    ...(caller !== undefined && { parent: caller.callId }),
    ...(choices !== undefined && { choices }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    digest: new CanonicalJson(shown).digest,
  });
}
