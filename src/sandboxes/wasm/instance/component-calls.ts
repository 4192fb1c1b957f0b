import type { ComponentValue } from "../abi/value.ts";
import type { ComponentFunction } from "../linking/link-plan.ts";

/** One instance of a component, whatever engine runs it. */
export interface ComponentCalls extends Disposable {
  /** Creates the core instances, unless they exist. This runs their start functions. */
  make(): void;
  /** Calls an exported function. After a call that threw, further calls throw the same. */
  call(exported: ComponentFunction, args: readonly ComponentValue[]): ComponentValue;
  /** Keeps a copy of its state, so that it can be restored. Called right after it was created. */
  keepImage(): void;
  /** Restores a disposed instance to its state after creation. Returns `false` if that is impossible. */
  restore(): boolean;
  /** Whether an image was retained, but the instance cannot be restored. */
  readonly isPastRestoring: boolean;
  /** Whether all calls so far have returned. */
  readonly isIntact: boolean;
  /** The current size of its linear memories, tables and exceptions, in bytes. */
  readonly memoryBytes: number;
  /** Whether one of its memories has no space left because of its cap. */
  readonly isAtMemoryCap: boolean;
}
