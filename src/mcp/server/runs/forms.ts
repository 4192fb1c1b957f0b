import type { JsonObject } from "../../../json/value.ts";
import { toTerminalLines } from "../../../rendering/lines.ts";
import { render } from "../../../rendering/render.ts";
import { joinShown, type ShownText, shown } from "../../../rendering/shown.ts";
import type { InquiryAnswer } from "../../../sessions/confirmations/answer.ts";
import type { CallInquiry, Inquiry, QuestionInquiry } from "../../../sessions/confirmations/confirmation.ts";
import type { Sessions } from "../../../sessions/sessions.ts";
import type { Principal } from "../../../tool/principal.ts";
import type { McpInputRequest } from "./input-requests.ts";
import type { Run } from "./run.ts";

/** The beginning of the keys of forms. A tool's own requests have other keys. */
const PREFIX = "sandgate:";

/** A way in which a client has a person answer. */
export interface InquiryWay {
  /** Returns the request to the client; `undefined` if this way cannot show all of the inquiry. */
  readonly requestOf: (inquiry: Inquiry) => McpInputRequest | undefined;
  /** Returns what the client's response answers; `undefined` if the answer comes from elsewhere. */
  readonly answerOf: (inquiry: Inquiry, response: JsonObject, by: string) => InquiryAnswer | undefined;
}

/** The inquiries of one call as requests to its client. The first answer wins, also if an approver gives it. */
export class InquiryForms {
  readonly #run: Run;
  readonly #sessions: Sessions;
  readonly #by: string;
  /** What withdraws each form, by the id of its inquiry. */
  readonly #open = new Map<string, () => void>();
  readonly #ways: readonly InquiryWay[];
  #count = 0;

  /** @param ways The first that can show an inquiry does. */
  constructor(run: Run, sessions: Sessions, principal: Principal | undefined, ways: readonly InquiryWay[]) {
    this.#run = run;
    this.#ways = ways;
    this.#sessions = sessions;
    // Says by which way the answer came: it is not an approver's.
    this.#by = `elicitation:${principal?.id ?? ""}`;
  }

  /** Shows an inquiry. Returns `false` if no way can show all of it. */
  offer(inquiry: Inquiry): boolean {
    const way = this.#ways.find((each) => each.requestOf(inquiry) !== undefined);
    const request = way?.requestOf(inquiry);
    if (way === undefined || request === undefined) return false;
    const key = `${PREFIX}${++this.#count}`;
    const withdraw = this.#run.open(
      key,
      request,
      (response) => {
        this.#open.delete(inquiry.id);
        const answer = way.answerOf(inquiry, response, this.#by);
        if (answer !== undefined) void this.#sessions.answer(inquiry.id, answer).catch(() => {});
      },
      () => this.deny(inquiry),
    );
    this.#open.set(inquiry.id, withdraw);
    return true;
  }

  /** Denies an inquiry that no person can see. */
  deny({ id, digest }: Inquiry): void {
    void this.#sessions.answer(id, { decision: "deny", digest, by: this.#by }).catch(() => {});
  }

  /** Withdraws the form of an inquiry that was answered in another way. */
  withdraw(inquiryId: string): void {
    this.#open.get(inquiryId)?.();
    this.#open.delete(inquiryId);
  }
}

/**
 * The most characters of arguments that a form shows. A form cannot expand truncated arguments, so calls with
 * longer ones get no form.
 */
export const MAX_FORM_CHARS = 16_000;

/**
 * The form that asks the person at a client about an inquiry; `undefined` if a form cannot show all of it. What the tool or
 * the model wrote is rendered, and each of its lines has a prefix.
 */
function formOf(inquiry: Inquiry): McpInputRequest | undefined {
  const form = inquiry.kind === "question" ? questionForm(inquiry) : callForm(inquiry);
  if (form === undefined) return undefined;
  const { message, properties, required } = form;
  return {
    method: "elicitation/create",
    params: {
      mode: "form",
      message: message.text,
      requestedSchema: { type: "object", properties, required },
    },
  };
}

interface Form {
  readonly message: ShownText;
  readonly properties: JsonObject;
  readonly required: readonly string[];
}

function callForm({ shown: call }: CallInquiry): Form | undefined {
  if (call.arguments.length > MAX_FORM_CHARS) return undefined;
  const message = joinShown(
    [
      shown`Allow the tool '${call.toolName}' (${call.sideEffects}) to run with these arguments?`,
      toTerminalLines(render(call.arguments, { syntax: "json" })),
      ...(call.question === "" ? [] : [shown`The policy asks: ${call.question}`]),
      ...call.projectedChanges.map((change) => shown`The tool says that it would change: ${change}`),
    ],
    "\n",
  );
  const decision = { type: "string", title: "Decision", enum: ["deny", "allow"] };
  return { message, properties: { decision }, required: ["decision"] };
}

function questionForm({ shown: asked }: QuestionInquiry): Form | undefined {
  if (asked.question.length > MAX_FORM_CHARS) return undefined;
  const message = joinShown(
    [
      shown`The tool '${asked.toolName}' asks:`,
      toTerminalLines(render(asked.question, { keepsLines: true })),
      shown`Do not answer with passwords or other secrets.`,
    ],
    "\n",
  );
  const { options, multiple } = asked;
  const one: JsonObject = options === undefined ? { type: "string" } : { type: "string", enum: options };
  const answer: JsonObject = multiple ? { type: "array", items: one, minItems: 1 } : one;
  return { message, properties: { answer: { ...answer, title: "Answer" } }, required: ["answer"] };
}

/** What a response to the form answers. Whatever does not clearly allow a call denies it. */
function answerOf(inquiry: Inquiry, response: JsonObject, by: string): InquiryAnswer {
  const { action, content } = response as { action?: string; content?: JsonObject };
  const { digest } = inquiry;
  if (action !== "accept") return { decision: "deny", digest, by };
  if (inquiry.kind === "question") {
    const answer = content?.["answer"] as InquiryAnswer["answer"];
    return answer === undefined
      ? { decision: "deny", digest, by }
      : { decision: "answer", digest, by, answer };
  }
  return { decision: content?.["decision"] === "allow" ? "allow" : "deny", digest, by };
}

/** A person at the client answers, in a form. */
export const FORM: InquiryWay = Object.freeze({ requestOf: formOf, answerOf });
