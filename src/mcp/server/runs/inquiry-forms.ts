import type { JsonObject } from "../../../json/value.ts";
import type { InquiryAnswer } from "../../../sessions/confirmations/answer.ts";
import type { Inquiry } from "../../../sessions/confirmations/confirmation.ts";
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
