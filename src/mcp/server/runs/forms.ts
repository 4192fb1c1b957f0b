import type { JsonObject } from "../../../json/value.ts";
import { toTerminalLines } from "../../../rendering/lines.ts";
import { render } from "../../../rendering/render.ts";
import { joinShown, type ShownText, shown } from "../../../rendering/shown.ts";
import type { PersonAnswer } from "../../../sessions/confirmations/answer.ts";
import type {
  CallConfirmation,
  Confirmation,
  ToolQuestion,
} from "../../../sessions/confirmations/confirmation.ts";
import type { Sessions } from "../../../sessions/sessions.ts";
import type { Principal } from "../../../tool/principal.ts";
import type { McpInputRequest } from "./input-requests.ts";
import type { Run } from "./run.ts";

/** The beginning of the keys of forms. A tool's own requests have other keys. */
const PREFIX = "sandgate:";

/** A way in which a client has a person answer. */
export interface ConfirmationWay {
  /** Returns the request to the client; `undefined` if this way cannot show all of the confirmation. */
  readonly requestOf: (confirmation: Confirmation) => McpInputRequest | undefined;
  /** Returns what the client's response answers; `undefined` if the answer comes from elsewhere. */
  readonly answerOf: (
    confirmation: Confirmation,
    response: JsonObject,
    by: string,
  ) => PersonAnswer | undefined;
}

/**
 * The confirmations of one call as requests to its client. The first answer wins, even if an approver gives
 * it.
 */
export class ConfirmationForms {
  readonly #run: Run;
  readonly #sessions: Sessions;
  readonly #by: string;
  /** What withdraws each form, by the id of its confirmation. */
  readonly #open = new Map<string, () => void>();
  readonly #ways: readonly ConfirmationWay[];
  #count = 0;

  /** @param ways The first that can show a confirmation does. */
  constructor(
    run: Run,
    sessions: Sessions,
    principal: Principal | undefined,
    ways: readonly ConfirmationWay[],
  ) {
    this.#run = run;
    this.#ways = ways;
    this.#sessions = sessions;
    // Says by which way the answer came: it is not an approver's.
    this.#by = `elicitation:${principal?.id ?? ""}`;
  }

  /** Shows a confirmation. Returns `false` if no way can show all of it. */
  offer(confirmation: Confirmation): boolean {
    const way = this.#ways.find((each) => each.requestOf(confirmation) !== undefined);
    const request = way?.requestOf(confirmation);
    if (way === undefined || request === undefined) return false;
    const key = `${PREFIX}${++this.#count}`;
    const withdraw = this.#run.open(
      key,
      request,
      (response) => {
        this.#open.delete(confirmation.id);
        const answer = way.answerOf(confirmation, response, this.#by);
        if (answer !== undefined) void this.#sessions.answer(confirmation.id, answer).catch(() => {});
      },
      () => this.deny(confirmation),
    );
    this.#open.set(confirmation.id, withdraw);
    return true;
  }

  /** Denies a confirmation that no person can see. */
  deny({ id, digest }: Confirmation): void {
    void this.#sessions.answer(id, { decision: "deny", digest, by: this.#by }).catch(() => {});
  }

  /** Withdraws the form of a confirmation that was answered elsewhere. */
  withdraw(confirmationId: string): void {
    this.#open.get(confirmationId)?.();
    this.#open.delete(confirmationId);
  }
}

/**
 * Maximum number of characters of arguments that a form shows. A form cannot expand truncated arguments, so
 * calls with longer ones get no form.
 */
export const MAX_FORM_CHARS = 16_000;

/**
 * The form that asks the person at a client about a confirmation; `undefined` if a form cannot show all of it. What the tool or
 * the model wrote is rendered, and each of its lines has a prefix.
 */
function formOf(confirmation: Confirmation): McpInputRequest | undefined {
  const form = confirmation.kind === "question" ? questionForm(confirmation) : callForm(confirmation);
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

function callForm({ shown: call }: CallConfirmation): Form | undefined {
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

function questionForm({ shown: asked }: ToolQuestion): Form | undefined {
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
function answerOf(confirmation: Confirmation, response: JsonObject, by: string): PersonAnswer {
  const { action, content } = response as { action?: string; content?: JsonObject };
  const { digest } = confirmation;
  if (action !== "accept") return { decision: "deny", digest, by };
  if (confirmation.kind === "question") {
    const answer = content?.["answer"] as PersonAnswer["answer"];
    return answer === undefined
      ? { decision: "deny", digest, by }
      : { decision: "answer", digest, by, answer };
  }
  return { decision: content?.["decision"] === "allow" ? "allow" : "deny", digest, by };
}

/** A person at the client answers, in a form. */
export const FORM: ConfirmationWay = Object.freeze({ requestOf: formOf, answerOf });
