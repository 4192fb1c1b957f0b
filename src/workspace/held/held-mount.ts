import type { SeenVersions } from "./held-record.ts";
import type { HeldRoom } from "./held-room.ts";
import type { HeldStore } from "./held-store.ts";

/**
 * Where the changes of a session are held.
 *
 * Calls see the workspace with the held changes. They cannot change what is granted to them outside of the workspace, which would not be
 * reviewed.
 */
export interface HeldMount {
  /** The workspace: an absolute path without links. */
  readonly workspace: string;
  readonly store: HeldStore;
  readonly room: HeldRoom;
  /** What the session has read. */
  readonly seen: SeenVersions;
}
