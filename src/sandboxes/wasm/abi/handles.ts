import type { ResourceType } from "../linking/value-type.ts";
import { AbiError } from "./value.ts";

/** A handle in a component's table. It refers to a resource that the component owns or borrows. */
interface Handle {
  readonly resource: ResourceType;
  /** An object for a resource of the host; otherwise the number that the defining component chose. */
  readonly representation: unknown;
  /** The call for which a borrowed handle was lowered; `undefined` for an owned one. */
  readonly borrowedFor: Task | undefined;
  /** The number of calls in progress that borrow it. */
  loans: number;
}

/** A call of an exported function. */
interface Task {
  /** The number of borrowed handles that it has not dropped yet. */
  borrows: number;
}

const MAX_HANDLES = 65_536;

/** The handle table of one component instance (`CanonicalABI.md`, component instance state). */
export class Handles {
  readonly #handles = new Map<number, Handle>();
  readonly #free: number[] = [];
  /** The handles that calls in progress have borrowed, in order. */
  readonly #loans: Handle[] = [];
  #next = 1;
  #mayLeave = true;
  /** The innermost call in progress, once it has borrowed a handle. */
  #task: Task | undefined;

  /** Adds a handle that owns its resource. Returns its index. */
  addOwned(resource: ResourceType, representation: unknown): number {
    return this.#add({ resource, representation, borrowedFor: undefined, loans: 0 });
  }

  /** Adds a handle that the current call borrows, and must drop before it returns. Returns its index. */
  addBorrowed(resource: ResourceType, representation: unknown): number {
    this.#task ??= { borrows: 0 };
    this.#task.borrows++;
    return this.#add({ resource, representation, borrowedFor: this.#task, loans: 0 });
  }

  #add(handle: Handle): number {
    if (this.#handles.size >= MAX_HANDLES) throw new AbiError(`it has more than ${MAX_HANDLES} handles`);
    const index = this.#free.pop() ?? this.#next++;
    this.#handles.set(index, handle);
    return index;
  }

  /** Returns the representation of the resource that a handle refers to. */
  representation(index: number, resource: ResourceType): unknown {
    return this.#get(index, resource).representation;
  }

  /** Lets a call borrow a handle, until {@link endLoans}. Returns the representation. */
  borrow(index: number, resource: ResourceType): unknown {
    const handle = this.#get(index, resource);
    handle.loans++;
    this.#loans.push(handle);
    return handle.representation;
  }

  /** The number of loans to calls in progress. */
  get loans(): number {
    return this.#loans.length;
  }

  /** Ends the latest loans, until only `loans` are left. */
  endLoans(loans: number): void {
    while (this.#loans.length > loans) {
      const handle = this.#loans.pop();
      if (handle !== undefined) handle.loans--;
    }
  }

  /** Removes a handle whose ownership is passed on. Returns the representation. */
  giveAway(index: number, resource: ResourceType): unknown {
    const { borrowedFor, representation } = this.#remove(index, resource, "gave away");
    if (borrowedFor !== undefined) throw new AbiError("it gave away a handle that it borrowed");
    return representation;
  }

  /** Removes a handle. Returns whether it was owned, and the representation. */
  drop(index: number, resource: ResourceType): { readonly owned: boolean; readonly representation: unknown } {
    const { borrowedFor, representation } = this.#remove(index, resource, "dropped");
    if (borrowedFor !== undefined) borrowedFor.borrows--;
    return { owned: borrowedFor === undefined, representation };
  }

  #get(index: number, resource: ResourceType): Handle {
    const handle = this.#handles.get(index);
    if (handle === undefined) throw new AbiError("it used a handle that does not exist");
    if (handle.resource !== resource) throw new AbiError("it used a handle of a different resource type");
    return handle;
  }

  #remove(index: number, resource: ResourceType, did: string): Handle {
    const handle = this.#get(index, resource);
    if (handle.loans > 0) throw new AbiError(`it ${did} a handle while it was lent to a call`);
    this.#handles.delete(index);
    this.#free.push(index);
    return handle;
  }

  /** Starts a call of an exported function. Returns what to pass to {@link endTask}. */
  beginTask(): Task | undefined {
    const outer = this.#task;
    this.#task = undefined;
    return outer;
  }

  /** @throws {AbiError} if the call has not dropped all handles that it borrowed. */
  endTask(outer: Task | undefined): void {
    if (this.#task !== undefined && this.#task.borrows > 0) {
      throw new AbiError("it returned without dropping the handles that it borrowed");
    }
    this.#task = outer;
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
    for (const { representation, borrowedFor } of this.#handles.values()) {
      if (borrowedFor === undefined) dispose(representation);
    }
    this.#handles.clear();
    this.#free.length = 0;
    this.#loans.length = 0;
    this.#next = 1;
    this.#mayLeave = true;
    this.#task = undefined;
  }
}

/** Disposes a resource of the host, if it is disposable. */
export function dispose(representation: unknown): void {
  if (typeof representation === "object" && representation !== null && Symbol.dispose in representation) {
    (representation as Disposable)[Symbol.dispose]();
  }
}
