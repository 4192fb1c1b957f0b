import type { Sandbox, SandboxOutcome, SandboxTask } from "../../src/sandboxes/contract/sandbox.ts";

/** A sandbox that takes its time to end what was cancelled: until the test says what it left behind. */
export class SlowlyEnding implements Sandbox {
  readonly mode = "host";
  readonly capabilities: ReadonlySet<never> = new Set<never>();
  readonly defaults = {};
  /** Of each call that began, in order. */
  readonly signals: AbortSignal[] = [];
  readonly #ends: ((outcome: SandboxOutcome) => void)[] = [];

  unenforceable(): undefined {}
  async prepare(): Promise<void> {}
  async close(): Promise<void> {}

  run({ signal }: SandboxTask): Promise<SandboxOutcome> {
    if (signal !== undefined) this.signals.push(signal);
    return new Promise((resolve) => this.#ends.push(resolve));
  }

  /** Ends the call that began first. */
  end(outcome: SandboxOutcome): void {
    this.#ends.shift()?.(outcome);
  }
}
