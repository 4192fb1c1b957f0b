import { namesIn } from "../../line/call-parts.ts";
import type { JournalEntry } from "../../line/entry.ts";
import { readChain } from "../chain-check.ts";
import { findFiles } from "../verify-chain.ts";
import type { CallsReport, UnbegunCall } from "./report.ts";

const MAX_EXAMPLES = 20;

/**
 * Finds the beginnings and ends of calls in different journals. Only what does not pair within its journal is kept in
 * memory.
 */
export class CallsAcross {
  /** Calls that have begun and not ended in a journal: how often. */
  readonly #open = new Map<string, number>();
  /** Ends without a beginning in their journal. */
  readonly #ends = new Map<string, UnbegunCall[]>();
  #lost = 0;

  /** Returns what takes the records of a journal, and what is to be called after the last one. */
  journal(directory: string): { readonly take: (entry: JournalEntry) => void; readonly finish: () => void } {
    const begun = new Map<string, number>();
    const take = (entry: JournalEntry): void => {
      switch (entry.type) {
        case "tool.call.dispatched":
          add(begun, keyOf(entry), 1);
          break;
        case "tool.call.ended": {
          const key = keyOf(entry);
          if (begun.has(key)) add(begun, key, -1);
          else this.#endAlone(key, entry, directory);
          break;
        }
        case "journal.recovered":
          this.#lost += Number(entry["lost"]);
          break;
      }
    };
    const finish = (): void => {
      for (const [key, count] of begun) add(this.#open, key, count);
    };
    return { take, finish };
  }

  /**
   * Returns what became of the calls. An end can be recorded twice, where a durable engine repeats a step after a crash: the
   * beginning of an end that does not pair is then looked for among all records.
   */
  async report(directories: readonly string[]): Promise<CallsReport> {
    let moved = 0;
    for (const key of this.#ends.keys()) {
      if (!this.#open.has(key)) continue;
      moved++;
      this.#open.delete(key);
      this.#ends.delete(key);
    }
    if (this.#ends.size > 0) moved += await this.#findBeginnings(directories);
    const unbegun = [...this.#ends.values()].flat();
    let open = 0;
    for (const count of this.#open.values()) open += count;
    const examples = unbegun.slice(0, MAX_EXAMPLES);
    return { moved, open, unbegun: unbegun.length, examples, lost: this.#lost };
  }

  async #findBeginnings(directories: readonly string[]): Promise<number> {
    let found = 0;
    for (const directory of directories) {
      const { files } = await findFiles(directory);
      // What contradicts was reported before.
      await readChain({ files, start: undefined, signed: Number.POSITIVE_INFINITY }, (entry) => {
        if (entry.type === "tool.call.dispatched" && this.#ends.delete(keyOf(entry))) found++;
        return undefined;
      });
    }
    return found;
  }

  #endAlone(key: string, entry: JournalEntry, directory: string): void {
    const { session, tool, tool_call_id: callId } = namesIn(entry);
    const call = { directory, seq: entry.seq, session, tool, callId };
    const same = this.#ends.get(key);
    if (same === undefined) this.#ends.set(key, [call]);
    else same.push(call);
  }
}

function add(counts: Map<string, number>, key: string, change: number): void {
  const count = (counts.get(key) ?? 0) + change;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}

function keyOf(entry: JournalEntry): string {
  const { session, turn, message, tool, tool_call_id: callId } = namesIn(entry);
  return JSON.stringify([session, turn, message, tool, callId]);
}
