import type { CallJournal, DeniedRecord, DispatchedRecord, EndedRecord } from "../engine/call/journal.ts";
import { CanonicalJson } from "../json/canonical.ts";
import type { JsonValue } from "../json/value.ts";
import { type Slug, slugOf } from "./slugs.ts";

/**
 * The journal of one supervised call and of those that its tool makes: a denial has the slug that the agent reads, and that of
 * its own call the arguments as it wrote them.
 */
export class AgentJournal implements CallJournal {
  readonly #journal: CallJournal;
  readonly #args: JsonValue;
  readonly #slug: Slug | undefined;

  /** @param slug Default: that of the code. */
  constructor(journal: CallJournal, args: JsonValue, slug: Slug | undefined) {
    this.#journal = journal;
    this.#args = args;
    this.#slug = slug;
  }

  get awaitsEvery(): boolean {
    return this.#journal.awaitsEvery === true;
  }

  get problem(): string | undefined {
    return this.#journal.problem;
  }

  begin(record: DispatchedRecord): undefined | Promise<void> {
    return this.#journal.begin(record);
  }

  end(record: EndedRecord): void {
    this.#journal.end(record);
  }

  deny(record: DeniedRecord): void {
    const { code, parent } = record;
    if (parent !== undefined) {
      this.#journal.deny({ ...record, slug: slugOf(code) });
      return;
    }
    const { canonical = new CanonicalJson(this.#args) } = record;
    this.#journal.deny({ ...record, canonical, slug: this.#slug ?? slugOf(code) });
  }
}
