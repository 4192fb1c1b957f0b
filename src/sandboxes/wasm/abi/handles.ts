import type { ResourceType } from "../linking/value-type.ts";
import { AbiError } from "./abi-error.ts";

/** A handle of a component: a resource that it owns, or was lent. */
export interface Handle {
  readonly resource: ResourceType;
  readonly owned: boolean;
  /** What it stands for: of the host's resources an object, of others the number that their component gave. */
  readonly representation: unknown;
}

const MAX_HANDLES = 65_536;

/** The state of one component instance (`CanonicalABI.md`, component instance state): its handles. */
export class Handles {
  readonly #handles = new Map<number, Handle>();
  readonly #free: number[] = [];
  #next = 1;
  #mayLeave = true;

  add(handle: Handle): number {
    if (this.#handles.size >= MAX_HANDLES) throw new AbiError(`there are more than ${MAX_HANDLES} handles`);
    const index = this.#free.pop() ?? this.#next++;
    this.#handles.set(index, handle);
    return index;
  }

  get(index: number, resource: ResourceType): Handle {
    const handle = this.#handles.get(index);
    if (handle === undefined) throw new AbiError("there is no such handle");
    if (handle.resource !== resource) throw new AbiError("a handle is of another type of resource");
    return handle;
  }

  /** Takes a handle away from the component. */
  remove(index: number, resource: ResourceType): Handle {
    const handle = this.get(index, resource);
    this.#handles.delete(index);
    this.#free.push(index);
    return handle;
  }

  /** Runs what the ABI calls in between, and which may not call out. */
  withoutLeaving<Result>(run: () => Result): Result {
    this.#mayLeave = false;
    const result = run();
    this.#mayLeave = true;
    return result;
  }

  /** @throws {AbiError} while the component may not call out. */
  checkMayLeave(): void {
    if (!this.#mayLeave) throw new AbiError("it called out while a value was crossing");
  }

  /** Frees what the host's resources hold. Nothing is left of what was here. */
  dispose(): void {
    for (const { representation, owned } of this.#handles.values()) if (owned) dispose(representation);
    this.#handles.clear();
    this.#free.length = 0;
    this.#next = 1;
    this.#mayLeave = true;
  }
}

/** Frees what a resource of the host holds, if it holds anything. */
export function dispose(representation: unknown): void {
  if (typeof representation === "object" && representation !== null && Symbol.dispose in representation) {
    (representation as Disposable)[Symbol.dispose]();
  }
}
