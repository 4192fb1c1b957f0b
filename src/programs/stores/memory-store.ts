import type { ClaimedCall } from "../../engine/call/suspension.ts";
import type { ClaimState } from "../../record/identity.ts";
import {
  claimOf,
  type ProgramHeader,
  type StoredCall,
  type StoredProgram,
  type SuspensionStore,
} from "./suspension-store.ts";

interface Entry {
  program: StoredProgram;
  readonly calls: Map<number, StoredCall>;
}

/** Stores suspended programs in the memory of this process: they free their heaps while they wait, and end with the process. */
export class MemorySuspensionStore implements SuspensionStore {
  readonly #programs = new Map<string, Entry>();
  readonly #templates = new Map<string, Uint8Array>();

  put(program: StoredProgram, calls: readonly StoredCall[]): boolean {
    const known = this.#programs.get(program.id);
    if ((known?.program.revision ?? 0) !== program.revision - 1) return false;
    const entry = known ?? { program, calls: new Map() };
    entry.program = program;
    for (const call of calls) entry.calls.set(call.number, call);
    this.#programs.set(program.id, entry);
    return true;
  }

  replace(program: StoredProgram): boolean {
    return this.#programs.get(program.id)?.program.state === "waiting" && this.put(program, []);
  }

  take(id: string, revision: number): boolean {
    const entry = this.#programs.get(id);
    if (entry?.program.state !== "waiting" || entry.program.revision !== revision) return false;
    entry.program = { ...entry.program, state: "taken" };
    return true;
  }

  get(id: string): StoredProgram | undefined {
    return this.#programs.get(id)?.program;
  }

  list(): readonly ProgramHeader[] {
    return Array.from(this.#programs.values(), ({ program: { sealed: _, ...header } }) => header).sort(
      (one, other) => one.suspendedAt - other.suspendedAt,
    );
  }

  remove(id: string): boolean {
    const entry = this.#programs.get(id);
    if (entry === undefined) return false;
    const { sessionId, turnId, messageId, callId } = entry.program;
    for (const [other, { program }] of this.#programs) {
      const isHere =
        program.sessionId === sessionId && program.turnId === turnId && program.messageId === messageId;
      if (isHere && program.callId.startsWith(`${callId}/`)) this.#programs.delete(other);
    }
    return this.#programs.delete(id);
  }

  claim(id: string, revision: number, { number, digest }: ClaimedCall): ClaimState {
    const { program, calls } = this.#programs.get(id) ?? {};
    if (calls === undefined || program?.revision !== revision) return "conflict";
    const claim = claimOf(calls.get(number), digest);
    if (claim === "fresh") calls.set(number, { number, digest });
    return claim;
  }

  end(id: string, revision: number, call: Required<StoredCall>): void {
    const { program, calls } = this.#programs.get(id) ?? {};
    if (calls === undefined || program?.revision !== revision) return;
    if (calls.get(call.number)?.sealed === undefined) calls.set(call.number, call);
  }

  calls(id: string): readonly StoredCall[] {
    const calls = this.#programs.get(id)?.calls.values() ?? [];
    return [...calls].sort((one, other) => one.number - other.number);
  }

  hasTemplate(digest: string): boolean {
    return this.#templates.has(digest);
  }

  addTemplate(digest: string, bytes: Uint8Array): void {
    if (!this.#templates.has(digest)) this.#templates.set(digest, bytes);
  }

  template(digest: string): Uint8Array | undefined {
    return this.#templates.get(digest);
  }

  removeTemplates(): number {
    const named = new Set(Array.from(this.#programs.values(), ({ program }) => program.template));
    const unnamed = [...this.#templates.keys()].filter((digest) => !named.has(digest));
    for (const digest of unnamed) this.#templates.delete(digest);
    return unnamed.length;
  }

  close(): void {}
}
