import { existsSync } from "node:fs";
import { join } from "node:path";
import { describeThrown } from "../base/thrown.ts";
import { type OptionNames, refuseUnknown } from "../base/unknown-names.ts";
import type { AcceptedChanges, AcceptOptions, ChangeConflict, PendingChange } from "../changes/pending.ts";
import type { StagedChanges } from "../changes/staged-changes.ts";
import type { Redaction } from "../redaction/redaction.ts";
import { textSummary } from "../rendering/text-summary.ts";
import type { StageChanges } from "../sandboxes/contract/staged-changes.ts";
import { OWN_PREFIX } from "../workspace/protected-places.ts";
import type { StagedQuota } from "../workspace/staged/staged-quota.ts";

/** What happened to the staged changes of a session. Frozen. */
export interface ChangeEvent {
  readonly type: "pending" | "accepted" | "rejected" | "conflicts";
  readonly sessionId: string;
  /**
   * The files, relative to the workspace: those that a call has changed (`pending`; at most 1,000), that were accepted or
   * rejected, or that could not be accepted.
   */
  readonly paths: readonly string[];
  /** Why nothing was accepted. Only of `conflicts`. */
  readonly conflicts?: readonly ChangeConflict[];
  /** Who accepted or rejected them; absent if it is not known. */
  readonly by?: string;
  /** In milliseconds since the epoch. */
  readonly at: number;
}

/** Called with each event. Errors that it throws are ignored. */
export type ChangeListener = (event: ChangeEvent) => void;

const ACCEPT_NAMES: OptionNames<AcceptOptions & ChangeAnswer> = { digest: true, by: true };

/** Maximum number of characters of a diff that are shown. */
const SHOWN_CHARS = 20_000;

const OMITTED = "the difference: too many changes wait to show all, so read it by its path";

/** Options of {@link SessionChanges}. */
export interface SessionChangesOptions {
  readonly sessionId: string;
  /** The workspace with its links resolved; `undefined` if none: then nothing can be staged. */
  readonly workspace: string | undefined;
  /** Must not throw. */
  readonly notify: (event: ChangeEvent) => void;
  /** Hides secrets in what is shown. */
  readonly redaction: Redaction;
  /** The quota of all sessions; `undefined` until one of them stages changes. */
  readonly shared: { quota: StagedQuota | undefined };
}

/** A pending change, as a person sees it. */
export interface ShownChange extends PendingChange {
  /** The diff: escaped, without secrets, and only the beginning and the end of a long one. */
  readonly shown: string;
  /** What it omits, such as `1,234 characters left out, 1 secret hidden`; empty if nothing is. */
  readonly missing: string;
}

/** The person who accepts or rejects. */
export interface ChangeAnswer {
  /** Named in events. Default: not known. */
  readonly by?: string;
}

/** The staged changes of a session. In the modes `review` and `audit`, calls make no other changes. */
export class SessionChanges {
  readonly #options: SessionChangesOptions;
  #staged: StagedChanges | undefined;
  #opening: Promise<void> | undefined;

  /** @internal */
  constructor(options: SessionChangesOptions) {
    this.#options = options;
  }

  /** The number of pending changes, without reading them. @internal */
  get count(): number {
    return this.#staged?.count ?? 0;
  }

  /**
   * Returns the pending changes, sorted by path.
   *
   * @param path Only the change of this path. Default: all.
   */
  async pending(path?: string): Promise<readonly ShownChange[]> {
    const changes = (await this.#staged?.pending(path)) ?? [];
    const { redaction } = this.#options;
    return changes.map((change) => {
      const { text, missing } = textSummary(change.diff, { redaction, chars: SHOWN_CHARS, keepsLines: true });
      return { ...change, shown: text, missing: change.isOmitted ? OMITTED : missing };
    });
  }

  /**
   * Applies the change of one path to the disk, with the changes of directories that it needs.
   *
   * @returns the result; `undefined` if no change of this path is pending.
   */
  async accept(path: string, given: AcceptOptions & ChangeAnswer = {}): Promise<AcceptedChanges | undefined> {
    refuseUnknown(given, ACCEPT_NAMES, "accept");
    const { by, ...options } = given;
    const accepted = await this.#staged?.accept(path, options);
    if (accepted !== undefined) this.#notifyAccepted(accepted, by);
    return accepted;
  }

  /**
   * Applies all changes to the disk, or none of them, even after a failure or a crash. Nothing is accepted if
   * one of them is in conflict with the disk.
   */
  async acceptAll(given: AcceptOptions & ChangeAnswer = {}): Promise<AcceptedChanges> {
    // Without the digest that was shown, anything would be accepted.
    refuseUnknown(given, ACCEPT_NAMES, "acceptAll");
    const { by, ...options } = given;
    const accepted = (await this.#staged?.acceptAll(options)) ?? { accepted: [], conflicts: [] };
    this.#notifyAccepted(accepted, by);
    return accepted;
  }

  /**
   * Discards the change of one path, with those that depend on it.
   *
   * @returns their paths; empty if no change of this path is pending.
   */
  async reject(path: string, { by }: ChangeAnswer = {}): Promise<readonly string[]> {
    const rejected = (await this.#staged?.reject(path)) ?? [];
    this.#notify("rejected", rejected, by);
    return rejected;
  }

  /** Discards all changes. Returns their paths. */
  async rejectAll({ by }: ChangeAnswer = {}): Promise<readonly string[]> {
    const rejected = (await this.#staged?.rejectAll()) ?? [];
    this.#notify("rejected", rejected, by);
    return rejected;
  }

  /**
   * Opens the staged changes, unless they are open.
   *
   * @throws as a rejection, if the workspace cannot be used.
   * @internal
   */
  open(): Promise<void> {
    this.#opening ??= this.#open().catch((error: unknown) => {
      this.#opening = undefined;
      throw error;
    });
    return this.#opening;
  }

  /** Opens what an earlier process has staged. @internal */
  async restore(): Promise<void> {
    const { workspace, sessionId } = this.#options;
    if (workspace === undefined || !existsSync(join(workspace, OWN_PREFIX))) return;
    const { StagedChanges } = await import("../changes/staged-changes.ts");
    if (StagedChanges.exist(workspace, sessionId)) await this.open();
  }

  async #open(): Promise<void> {
    const { workspace, sessionId, shared } = this.#options;
    if (workspace === undefined) return;
    const { STAGED_LIMITS, StagedQuota } = await import("../workspace/staged/staged-quota.ts");
    const { StagedChanges } = await import("../changes/staged-changes.ts");
    shared.quota ??= new StagedQuota(STAGED_LIMITS.all);
    this.#staged = new StagedChanges(workspace, sessionId, shared.quota);
  }

  /**
   * Opens the files of a call, so that its changes are staged; `undefined` if nothing can be.
   *
   * @internal
   */
  get stage(): StageChanges | undefined {
    const staged = this.#staged;
    if (staged === undefined) return undefined;
    return (granted) => {
      const files = staged.stage(granted);
      return {
        files: files.files,
        get writtenBytes() {
          return files.writtenBytes;
        },
        get changes() {
          return files.changes;
        },
        end: () => {
          const paths = files.changes?.files.map(({ path }) => path) ?? [];
          files.end();
          this.#notify("pending", paths);
        },
      };
    };
  }

  /**
   * Stages changes that calls have made elsewhere.
   *
   * @throws {TypeError} as a rejection, if nothing can be staged.
   * @internal
   */
  async take(stage: (staged: StagedChanges) => Promise<AcceptedChanges>): Promise<AcceptedChanges> {
    if (this.#staged === undefined)
      throw new TypeError("the session cannot hold changes: it has no workspace");
    const taken = await stage(this.#staged);
    this.#notify("pending", taken.accepted);
    return taken;
  }

  /** Closes the workspace. Pending changes stay pending. @internal */
  async suspend(): Promise<void> {
    await this.#staged?.close();
    this.#staged = undefined;
  }

  /** Forgets everything. @internal */
  async remove(): Promise<void> {
    await this.#staged?.remove();
    this.#staged = undefined;
  }

  #notifyAccepted({ accepted, conflicts }: AcceptedChanges, by: string | undefined): void {
    if (conflicts.length === 0) this.#notify("accepted", accepted, by);
    else
      this.#notify(
        "conflicts",
        conflicts.map(({ path }) => path),
        by,
        { conflicts },
      );
  }

  #notify(
    type: ChangeEvent["type"],
    paths: readonly string[],
    by?: string,
    more: Pick<ChangeEvent, "conflicts"> = {},
  ): void {
    if (paths.length === 0) return;
    const { sessionId, notify } = this.#options;
    notify({ type, sessionId, paths, ...more, ...(by !== undefined && { by }), at: Date.now() });
  }
}

/** Warns if the changes of a session cannot be staged: each then needs a confirmation. Never rejects. */
export async function warnIfNotStaged(opening: Promise<void>): Promise<void> {
  try {
    await opening;
  } catch (error) {
    process.emitWarning(`The changes of a session cannot be staged: ${describeThrown(error).detail}`, {
      code: "SANDGATE_CHANGES_NOT_HELD",
    });
  }
}
