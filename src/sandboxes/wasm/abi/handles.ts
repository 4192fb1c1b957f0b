import type { ResourceType } from "../linking/value-type.ts";
import { AbiError } from "./value.ts";

/** A handle in a component's table. It refers to a resource that the component owns or borrows. */
export interface Handle {
  readonly resource: ResourceType;
  readonly owned: boolean;
  /** An object for a resource of the host; otherwise the number that the defining component chose. */
  readonly representation: unknown;
}

const MAX_HANDLES = 65_536;

/** The handle table of one component instance (`CanonicalABI.md`, component instance state). */
export class Handles {
  readonly #handles = new Map<number, Handle>();
  readonly #free: number[] = [];
  #next = 1;
  #mayLeave = true;

  add(handle: Handle): number {
    if (this.#handles.size >= MAX_HANDLES) throw new AbiError(`it has more than ${MAX_HANDLES} handles`);
    const index = this.#free.pop() ?? this.#next++;
    this.#handles.set(index, handle);
    return index;
  }

  get(index: number, resource: ResourceType): Handle {
    const handle = this.#handles.get(index);
    if (handle === undefined) throw new AbiError("it used a handle that does not exist");
    if (handle.resource !== resource) throw new AbiError("it used a handle of a different resource type");
    return handle;
  }

  /** Removes a handle from the table and returns it. */
  remove(index: number, resource: ResourceType): Handle {
    const handle = this.get(index, resource);
    this.#handles.delete(index);
    this.#free.push(index);
    return handle;
  }

  /** Runs `realloc` or `post-return`, during which the ABI forbids the component to call imports. */
  withoutLeaving<Result>(run: () => Result): Result {
    this.#mayLeave = false;
    const result = run();
    this.#mayLeave = true;
    return result;
  }

  /** @throws {AbiError} while the component must not call imports. */
  checkMayLeave(): void {
    if (!this.#mayLeave) throw new AbiError("it called an import from realloc or post-return");
  }

  /** Disposes the host's resources and resets the table. */
  dispose(): void {
    for (const { representation, owned } of this.#handles.values()) if (owned) dispose(representation);
    this.#handles.clear();
    this.#free.length = 0;
    this.#next = 1;
    this.#mayLeave = true;
  }
}

/** Disposes a resource of the host, if it is disposable. */
export function dispose(representation: unknown): void {
  if (typeof representation === "object" && representation !== null && Symbol.dispose in representation) {
    (representation as Disposable)[Symbol.dispose]();
  }
}
