import { LiftBudget, type LiftLimits } from "../abi/lift-budget.ts";
import type { WasmArtifact } from "../artifact.ts";
import type { CurrentCall } from "../host/current-call.ts";
import { InstanceHost } from "../host/instance-host.ts";
import type { WasiGrant } from "../host/wasi/grant.ts";
import type { FileChanges } from "../host/wasi/host.ts";
import type { ComponentCalls } from "./component-calls.ts";
import { ComponentInstance } from "./instance.ts";
import { JcoInstance } from "./jco/jco-instance.ts";

/** What an instance may use during a call. */
export interface GuestGrant {
  readonly wasi: WasiGrant;
  readonly lifted: LiftLimits;
  readonly netBytes: number;
}

/** An instance of a component and everything that it can import. It can be created before its first call is known. */
export class Guest implements Disposable {
  readonly instance: ComponentCalls;
  readonly #budget = new LiftBudget({ memoryBytes: 0, textBytes: 0 });
  #host: InstanceHost | undefined;

  constructor(artifact: WasmArtifact) {
    const host = (name: string): object => this.#interface(name);
    this.instance =
      artifact.jco === undefined
        ? new ComponentInstance(artifact, host, this.#budget)
        : new JcoInstance(artifact, artifact.jco, host, this.#budget);
  }

  #interface(name: string): object {
    if (this.#host === undefined) throw new Error("the instance was used before its first call began");
    return this.#host.interface(name);
  }

  /** Begins a call, which {@link end} ends. All calls of an instance have the same grant. */
  begin({ wasi, lifted, netBytes }: GuestGrant, call: CurrentCall): void {
    this.#budget.allow(lifted);
    if (this.#host === undefined) this.#host = new InstanceHost(wasi, netBytes, this.#budget, call);
    else this.#host.begin(call);
  }

  /** Ends the call. Returns what it did to files. */
  end(): FileChanges {
    return this.#host?.end() ?? { writtenBytes: 0, hasChangedFiles: false };
  }

  [Symbol.dispose](): void {
    this.instance[Symbol.dispose]();
    this.#host?.[Symbol.dispose]();
    this.#host = undefined;
    this.#budget.reset();
  }
}
