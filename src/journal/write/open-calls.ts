import type { CallNames } from "../line/call-parts.ts";

/** The calls whose beginning is recorded and whose end is not, in the order of their beginnings. */
export class OpenCalls {
  readonly #calls = new Map<string, CallNames[]>();

  begin(names: CallNames): void {
    const key = keyOf(names);
    const same = this.#calls.get(key);
    // A model can use an id twice.
    if (same === undefined) this.#calls.set(key, [names]);
    else same.push(names);
  }

  /** Takes note of an end. An end without a beginning is ignored. */
  end(names: CallNames): void {
    const key = keyOf(names);
    const same = this.#calls.get(key);
    if (same === undefined) return;
    same.shift();
    if (same.length === 0) this.#calls.delete(key);
  }

  list(): readonly CallNames[] {
    return [...this.#calls.values()].flat();
  }
}

function keyOf({ session, tool_call_id: callId }: CallNames): string {
  return `${session.length}:${session}${callId}`;
}
