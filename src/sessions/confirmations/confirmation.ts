import type { MaybePromise } from "../../base/promises.ts";
import type { JsonValue } from "../../json/value.ts";
import type { ExecutionGrant } from "../../policy/grant/execution-grant.ts";
import type { RuleConditions } from "../../policy/rule/rule.ts";
import type { TextSummary } from "../../rendering/text-summary.ts";
import type { QuestionAnswer } from "../../tool/question.ts";
import type { SideEffects } from "../../tool/side-effects.ts";

/** Confirmations, open and resolved: a part of a session store. */
export interface ConfirmationTable {
  /**
   * Adds a confirmation of a known session, unless its id is known, or it is about a nested call that already has a confirmation
   * in force: the same question, open or answered, or any that a person denied.
   *
   * @returns the confirmation in force, with its resolution; `undefined` if a call above the nested one has ended: an answer
   *   would not count.
   */
  addConfirmation(confirmation: Confirmation): MaybePromise<ConfirmationRecord | undefined>;
  /**
   * Resolves a confirmation. The first resolution that is written wins.
   *
   * @returns the resolution that won; `undefined` if the confirmation is unknown.
   */
  resolveConfirmation(id: string, resolution: Resolution): MaybePromise<Resolution | undefined>;
  /** Returns a confirmation, open or resolved; `undefined` if it is unknown. */
  confirmation(id: string): MaybePromise<ConfirmationRecord | undefined>;
  /**
   * Returns the open confirmations, and the resolved ones whose call has neither begun nor ended, in order. Of a nested call, whose
   * state is not known here, the resolved ones while the call of the message that it belongs to has begun, and not ended.
   */
  pendingConfirmations(): MaybePromise<readonly ConfirmationRecord[]>;
}

/** The calls that an approval covers, and for how long. A person chooses it when answering a confirmation. */
export interface ApprovalScope {
  /** Names of tools, in which `*` matches any number of characters, as in a policy. */
  readonly tools: readonly string[];
  /** The conditions that a call must meet, as in a policy's rule. Default: none. */
  readonly when?: RuleConditions;
  /**
   * `session`: until the session is closed. `workspace`: in every session of the same principal with the same workspace,
   * until it is revoked. A number: in this session, for so many milliseconds.
   */
  readonly for: "session" | "workspace" | number;
  /** The number of calls that the approval covers; the call that was answered does not count. Default: no bound. */
  readonly calls?: number;
}

/** How a person can answer a confirmation. `always` allows the call, and remembers the answer. */
export type Choice = CallChoice | QuestionChoice;

/** How a person can answer a confirmation about a call. */
export type CallChoice = "allow" | "deny" | "always";

/** How a person can answer a question of a tool: `deny` declines to. */
export type QuestionChoice = "answer" | "deny";

/** Something that waits for a person: a call, a question of a tool, or a plan. Frozen. */
export type Confirmation = CallConfirmation | ToolQuestion;

/** A call, or a plan, that a person allows or denies. */
export interface CallConfirmation extends ConfirmationBase {
  readonly kind: "call" | "plan";
  readonly shown: ShownCall;
  readonly choices: readonly CallChoice[];
}

/** A question of a tool whose call is running. The answer approves nothing. */
export interface ToolQuestion extends ConfirmationBase {
  readonly kind: "question";
  readonly shown: ShownQuestion;
  readonly choices: readonly QuestionChoice[];
}

/** The members of every {@link Confirmation}. */
export interface ConfirmationBase {
  /** Unguessable. */
  readonly id: string;
  readonly sessionId: string;
  readonly turnId: string;
  readonly messageId?: string;
  readonly callId: string;
  /** The id of the session's principal; absent if it has none. */
  readonly principal?: string;
  /** The id of the call whose tool makes this one; absent for a call of the model. */
  readonly parent?: string;
  /** Identifies exactly what is shown, as 64 hexadecimal digits. An answer must repeat it. */
  readonly digest: string;
  /** In milliseconds since the epoch. */
  readonly askedAt: number;
  /** From when on an answer is too late, in milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** An {@link Confirmation} without the members that the broker fills in. */
export type NewConfirmation = Omit<CallConfirmation, FilledIn> | Omit<ToolQuestion, FilledIn>;

type FilledIn = "id" | "askedAt" | "expiresAt";

/** Identifies a call among those of all sessions. */
export type CallKey = Pick<Confirmation, "sessionId" | "turnId" | "messageId" | "callId">;

/** What a person sees of a call. Names, arguments and changes are the text of a model or of a tool. */
export interface ShownCall {
  readonly toolName: string;
  readonly sideEffects: SideEffects;
  /** The arguments without secrets, of long ones the beginning and the end, and what that does not show. */
  readonly inputSummary: Pick<TextSummary, "text" | "missing" | "isPartial">;
  /** The arguments as whole canonical JSON text, with secrets. */
  readonly arguments: string;
  /** What the tool says that it would change, such as paths. Not verified. */
  readonly projectedChanges: readonly string[];
  /** What the policy asks. */
  readonly question: string;
  /** The grant under which the call would run. */
  readonly grant: ExecutionGrant;
  /** The names of the policy's rules that led to the question. */
  readonly rules: readonly string[];
}

/** What a person sees of a question. Its texts are those of a tool, and perhaps of a model. */
export interface ShownQuestion {
  readonly toolName: string;
  readonly sideEffects: SideEffects;
  /** The question without secrets, of a long one the beginning and the end, and what that does not show. */
  readonly questionSummary: Pick<TextSummary, "text" | "missing" | "isPartial">;
  /** The whole question, with secrets. */
  readonly question: string;
  /** The answers to choose from, whole; absent if the answer is any text. */
  readonly options?: readonly string[];
  /** Whether several of the options can be given. */
  readonly multiple: boolean;
}

/** How a confirmation ended. Frozen. */
export interface Resolution {
  readonly decision: "allow" | "answer" | "deny" | "timeout" | "cancelled";
  /** What the person chose; absent if it was not answered. */
  readonly choice?: Choice;
  /** Who answered; absent if it was not answered. */
  readonly by?: string;
  /** In milliseconds since the epoch. */
  readonly at: number;
  /** What the person answered, with the decision `answer`. */
  readonly answer?: QuestionAnswer;
  /** Other arguments, under which the call is to run. Default: those that were shown. */
  readonly arguments?: JsonValue;
  /** What is remembered with the choice `always`. Default: the tool, in this session. */
  readonly approval?: ApprovalScope;
  /** Why a call was denied, as the model reads it. Default: no reason. */
  readonly reason?: string;
}

/** A confirmation, and how it ended. */
export interface ConfirmationRecord {
  readonly confirmation: Confirmation;
  /** Absent as long as the confirmation is open. */
  readonly resolution?: Resolution;
}

/**
 * Returns the earlier confirmation of a nested call that is used in place of a new one: one that a person denied, or else the
 * same question, open or answered. A tool that continues in another process makes its calls again, under the same ids, and
 * claims them. Calls of the model, for which an answer is used once, and questions of a running tool always need a new one.
 *
 * @param records All confirmations of the call, in order.
 */
export function confirmationInForce(
  records: readonly ConfirmationRecord[],
  question: NewConfirmation,
): ConfirmationRecord | undefined {
  const { kind, callId, parent } = question;
  if (kind === "question" || parent === undefined || !callId.startsWith(`${parent}/`)) return undefined;
  const about = records.filter(({ confirmation }) => confirmation.kind !== "question");
  const denied = about.find(({ resolution }) => resolution?.decision === "deny");
  return (
    denied ??
    about.findLast(
      ({ confirmation, resolution }) =>
        confirmation.digest === question.digest && (resolution === undefined || isByPerson(resolution)),
    )
  );
}

/** Whether a person has decided, and not the time or the end of the call. */
function isByPerson({ decision }: Resolution): boolean {
  return decision !== "timeout" && decision !== "cancelled";
}

/** Whether the tool of a call made the call that a confirmation is about, directly or not. */
export function isBelow(confirmation: CallKey, { sessionId, turnId, messageId, callId }: CallKey): boolean {
  return (
    confirmation.sessionId === sessionId &&
    confirmation.turnId === turnId &&
    confirmation.messageId === messageId &&
    confirmation.callId.startsWith(`${callId}/`)
  );
}
