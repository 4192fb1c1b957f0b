import type { CallNames } from "../line/call-parts.ts";

/** The calls whose beginning is recorded and whose end is not, in the order of their beginnings. */
export class OpenCalls {
  /** By the id of the call, which another session, turn or message can have as well, and a model can use twice. */
  readonly #calls = new Map<string, CallNames | CallNames[]>();

  begin(names: CallNames): void {
    const same = this.#calls.get(names.tool_call_id);
    if (same === undefined) this.#calls.set(names.tool_call_id, names);
    else if (Array.isArray(same)) same.push(names);
    else this.#calls.set(names.tool_call_id, [same, names]);
  }

  /** Notes an end. An end without a beginning is ignored. */
  end(names: CallNames): void {
    const { tool_call_id: id } = names;
    const same = this.#calls.get(id);
    if (same === undefined) return;
    if (!Array.isArray(same)) {
      if (isSame(same, names)) this.#calls.delete(id);
      return;
    }
    const index = same.findIndex((each) => isSame(each, names));
    if (index >= 0) same.splice(index, 1);
    if (same.length === 0) this.#calls.delete(id);
  }

  list(): readonly CallNames[] {
    return [...this.#calls.values()].flat();
  }
}

function isSame(one: CallNames, other: CallNames): boolean {
  return (
    one.session === other.session &&
    one.turn === other.turn &&
    one.message === other.message &&
    one.tool === other.tool
  );
}
