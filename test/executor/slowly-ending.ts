import type { SandboxOutcome } from "../../src/sandboxes/contract/outcome.ts";
import type { Sandbox, SandboxTask } from "../../src/sandboxes/contract/sandbox.ts";

/** A sandbox in which calls, even cancelled ones, end only when the test ends them. */
export class SlowlyEnding implements Sandbox {
  readonly mode = "host";
  readonly capabilities: ReadonlySet<never> = new Set<never>();
  readonly defaults = {};
  /** The signal of each started call, in order. */
  readonly signals: AbortSignal[] = [];
  readonly #ends: ((outcome: SandboxOutcome) => void)[] = [];

  unenforceable(): undefined {}
  async prepare(): Promise<void> {}
  async close(): Promise<void> {}

  run({ signal }: SandboxTask): Promise<SandboxOutcome> {
    if (signal !== undefined) this.signals.push(signal);
    return new Promise((resolve) => this.#ends.push(resolve));
  }

  /** Ends the call that was started first. */
  end(outcome: SandboxOutcome): void {
    this.#ends.shift()?.(outcome);
  }
}
