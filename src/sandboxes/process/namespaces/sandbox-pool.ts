import type { QueueOwner } from "../../../base/fair-queue.ts";
import { awaitWork } from "../../../base/turns.ts";
import type { FsGrant } from "../../../policy/grant/fs-grant.ts";
import { GrantedMounts } from "./granted-mounts.ts";
import type { PreparedSandbox } from "./prepared-sandbox.ts";

/** The most sandboxes that wait. Each has two processes of bubblewrap. */
const MOST = 4;

/** Milliseconds after which a sandbox is not used any more. */
const MAX_AGE_MS = 60_000;

interface Waiting {
  readonly sandbox: PreparedSandbox;
  /** See {@link GrantedMounts.identity}. */
  readonly identity: string;
  /** Kept open, so that nothing else gets the numbers of what was removed before it was mounted. */
  readonly mounts: GrantedMounts;
  readonly expiry: NodeJS.Timeout;
}

/**
 * Sandboxes that wait for the next calls. A sandbox has its mounts already, so that it fits only a call whose grant has
 * the same directories and files, and the same protected places in them. Each is used for one call.
 */
export class SandboxPool {
  readonly #make: (mounts: GrantedMounts) => PreparedSandbox;
  readonly #ending = new Set<Promise<unknown>>();
  /** The oldest first: it is most likely to be ready. */
  #waiting: readonly Waiting[] = [];
  #preparing = 0;
  #closed = false;

  /** @param make Makes a sandbox with these mounts. */
  constructor(make: (mounts: GrantedMounts) => PreparedSandbox) {
    this.#make = make;
  }

  /** Returns a sandbox with these mounts: one that waits, or a new one. */
  take(mounts: GrantedMounts): PreparedSandbox {
    const { identity } = mounts;
    const found = this.#waiting.find((each) => each.identity === identity && !each.sandbox.hasExited);
    if (found === undefined) return this.#make(mounts);
    this.#remove(found);
    found.sandbox.keepAlive(true);
    return found.sandbox;
  }

  /**
   * Makes a sandbox for the next call with this grant, in a later turn of the event loop. Never rejects.
   *
   * @param owner Who is granted them.
   */
  async prepare(grants: readonly FsGrant[], owner: QueueOwner): Promise<void> {
    // Others would end those that wait.
    if (this.#preparing >= MOST) return;
    this.#preparing++;
    let mounts: GrantedMounts | undefined;
    try {
      await new Promise<void>((resolve) => setImmediate(resolve));
      if (this.#closed) return;
      mounts = await GrantedMounts.open(grants, owner);
      await awaitWork(owner);
      if (mounts.canWait && !this.#closed) this.#add(this.#make(mounts), mounts);
      else mounts[Symbol.dispose]();
    } catch {
      // The next call with the grant fails in the same way, and says why.
      mounts?.[Symbol.dispose]();
    } finally {
      this.#preparing--;
    }
  }

  #add(sandbox: PreparedSandbox, mounts: GrantedMounts): void {
    sandbox.keepAlive(false);
    const expiry = setTimeout(() => this.#discard(waiting), MAX_AGE_MS).unref();
    const waiting: Waiting = { sandbox, identity: mounts.identity, mounts, expiry };
    this.#waiting = [...this.#waiting, waiting];
    void sandbox.exited.then(() => this.#remove(waiting));
    const [oldest] = this.#waiting;
    if (this.#waiting.length > MOST && oldest !== undefined) this.#discard(oldest);
  }

  #discard(waiting: Waiting): void {
    this.#remove(waiting);
    const { sandbox } = waiting;
    // Its end can be waited for.
    sandbox.keepAlive(true);
    const ended = sandbox
      .discard()
      .then(() => sandbox.exited)
      .finally(() => this.#ending.delete(ended));
    this.#ending.add(ended);
  }

  #remove(waiting: Waiting): void {
    clearTimeout(waiting.expiry);
    waiting.mounts[Symbol.dispose]();
    this.#waiting = this.#waiting.filter((each) => each !== waiting);
  }

  /** Ends the sandboxes that wait, and waits until they have ended. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const waiting of this.#waiting) this.#discard(waiting);
    await Promise.all(this.#ending);
  }
}
