import type { Inquiry } from "../../../sessions/confirmations/inquiry.ts";
import type { Sessions } from "../../../sessions/sessions.ts";
import type { Principal } from "../../../tool/principal.ts";
import { answerOf, formOf } from "./forms.ts";
import type { Run } from "./run.ts";

/** The beginning of the keys of forms. A tool's own requests have other keys. */
const PREFIX = "sandgate:";

/** The inquiries of one call as forms of its client. The first answer wins, also if an approver gives it. */
export class InquiryForms {
  readonly #run: Run;
  readonly #sessions: Sessions;
  readonly #by: string;
  /** What withdraws each form, by the id of its inquiry. */
  readonly #open = new Map<string, () => void>();
  #count = 0;

  constructor(run: Run, sessions: Sessions, principal: Principal | undefined) {
    this.#run = run;
    this.#sessions = sessions;
    // Says by which way the answer came: it is not an approver's.
    this.#by = `elicitation:${principal?.id ?? ""}`;
  }

  /** Shows an inquiry as a form. Returns `false` if a form cannot show all of it. */
  offer(inquiry: Inquiry): boolean {
    const form = formOf(inquiry);
    if (form === undefined) return false;
    const key = `${PREFIX}${++this.#count}`;
    const withdraw = this.#run.open(
      key,
      form,
      (response) => {
        this.#open.delete(inquiry.id);
        void this.#sessions.answer(inquiry.id, answerOf(inquiry, response, this.#by)).catch(() => {});
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
