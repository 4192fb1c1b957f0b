import type { DefinitionPins } from "../engine/registry-options.ts";
import type { JsonObject } from "../json/value.ts";
import { type DefinitionLock, pinned } from "./definition-lock.ts";

/** Approves the definitions in a lock, and no others. */
export class LockPins implements DefinitionPins {
  readonly #lock: DefinitionLock;

  constructor(lock: DefinitionLock) {
    this.#lock = lock;
  }

  isApproved(name: string, { digest }: { readonly digest: string }): boolean {
    return this.#lock.tools.get(name)?.digest === digest;
  }

  approvedDefinition(name: string): JsonObject | undefined {
    return this.#lock.tools.get(name)?.definition;
  }

  /** Returns whether an MCP server says about itself what was approved. */
  isApprovedServer(name: string, definition: JsonObject): boolean {
    return this.#lock.servers.get(name)?.digest === pinned(definition).digest;
  }
}
