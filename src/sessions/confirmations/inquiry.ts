import type { JsonValue } from "../../json/value.ts";
import type { ExecutionGrant } from "../../policy/grant/execution-grant.ts";
import type { InputSummary } from "../../rendering/input-summary.ts";
import type { SideEffects } from "../../tool/side-effects.ts";
import type { ApprovalScope } from "../approvals/approval.ts";

/** How a person can answer an inquiry. `always` allows the call, and remembers the answer. */
export type Choice = "allow" | "deny" | "always";

/** A question that waits for a person: about a call, from a tool, or about a plan. Frozen. */
export interface Inquiry {
  /** Unguessable. */
  readonly id: string;
  readonly kind: "call" | "question" | "plan";
  readonly sessionId: string;
  readonly turnId: string;
  readonly messageId?: string;
  readonly callId: string;
  /** The id of the principal who calls; absent if the session has none. */
  readonly principal?: string;
  /** The id of the call whose tool makes this one; absent for a call of the model. */
  readonly parent?: string;
  /** Identifies exactly what is shown, as 64 hexadecimal digits. An answer must repeat it. */
  readonly digest: string;
  readonly shown: ShownCall;
  /** The answers that are accepted. */
  readonly choices: readonly Choice[];
  /** In milliseconds since the epoch. */
  readonly askedAt: number;
  /** From when on an answer is too late, in milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** What a person sees of a call. Names, arguments and changes are the text of a model or of a tool. */
export interface ShownCall {
  readonly toolName: string;
  readonly sideEffects: SideEffects;
  /** The arguments without secrets, of long ones the beginning and the end, and what that does not show. */
  readonly inputSummary: Pick<InputSummary, "text" | "missing" | "isPartial">;
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

/** How an inquiry ended. Frozen. */
export interface Resolution {
  readonly decision: "allow" | "deny" | "timeout" | "cancelled";
  /** What the person chose; absent if it was not answered. */
  readonly choice?: Choice;
  /** Who answered; absent if it was not answered. */
  readonly by?: string;
  /** In milliseconds since the epoch. */
  readonly at: number;
  /** Other arguments, under which the call is to run. Default: those that were shown. */
  readonly arguments?: JsonValue;
  /** What is remembered with the choice `always`. Default: the tool, in this session. */
  readonly approval?: ApprovalScope;
}

/** An inquiry, and how it ended. */
export interface InquiryRecord {
  readonly inquiry: Inquiry;
  /** Absent as long as the inquiry is open. */
  readonly resolution?: Resolution;
}
