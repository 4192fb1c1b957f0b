import { type OptionNames, refuseUnknown } from "../base/unknown-names.ts";
import { compileNamePattern } from "../policy/match/name-pattern.ts";
import { checkPrincipal, type Principal } from "../policy/principal.ts";
import { checkId, newId } from "./ids.ts";
import { type SessionMode, writeStoredMode } from "./modes/mode.ts";
import type { Modes } from "./modes/modes.ts";
import type { SessionRecord } from "./store/store.ts";
import { absolutePath } from "./trusted-workspaces.ts";

const NAMES: OptionNames<OpenSessionOptions> = {
  id: true,
  name: true,
  principal: true,
  workspace: true,
  mode: true,
  kind: true,
  tools: true,
  durable: true,
};

/** Options of {@link Sessions.open}. */
export interface OpenSessionOptions {
  /** At most 128 characters. Default: a new id, which cannot be guessed. */
  readonly id?: string;
  /** What people read where the session is listed, such as `"release 2.4"`: at most 128 characters. Default: none. */
  readonly name?: string;
  /** The caller, as you authenticated it. Default: not known. */
  readonly principal?: Principal;
  /** The folder in which the tools work: an absolute path, or one that begins with `~/`. Default: none. */
  readonly workspace?: string;
  /** Decides which calls need a confirmation. Default: `"cautious"`. */
  readonly mode?: SessionMode;
  /** A worker does not see tools with the tag `memory`. Default: `"main"`. */
  readonly kind?: "main" | "worker";
  /** Names of the tools that the session can see, in which `*` matches any number of characters. Default: all. */
  readonly tools?: readonly string[];
  /**
   * Whether a store persists the calls of the session beyond this process. `false` saves writing each call to the disk, for a client
   * that cannot ask for results again. Quotas then begin anew with the process; approvals and the ledgers do not. Default: `true`.
   */
  readonly durable?: boolean;
}

/**
 * Returns what is stored of a session that is opened.
 *
 * @throws {TypeError} if an option is invalid.
 */
export function recordOf(options: OpenSessionOptions, modes: Modes): SessionRecord {
  refuseUnknown(options, NAMES, "a session");
  const {
    id = newId(),
    name,
    principal,
    workspace,
    mode: given = "cautious",
    kind = "main",
    tools,
    durable = true,
  } = options;
  checkId(id, "session");
  if (name !== undefined) checkName(name);
  const mode = writeStoredMode(modes.resolve(given));
  if (kind !== "main" && kind !== "worker") throw new TypeError("the kind must be main or worker");
  for (const pattern of tools ?? []) compileNamePattern(pattern);
  return Object.freeze({
    id,
    mode,
    kind,
    openedAt: Date.now(),
    ...(name !== undefined && { name }),
    ...(principal !== undefined && { principal: checkPrincipal(principal) }),
    ...(workspace !== undefined && { workspace: absolutePath(workspace, "the workspace") }),
    ...(tools !== undefined && { tools: Object.freeze([...tools]) }),
    ...(!durable && { durable: false }),
  });
}

const MAX_NAME_CHARS = 128;

function checkName(name: unknown): void {
  if (typeof name !== "string" || name.trim() === "" || name.length > MAX_NAME_CHARS)
    throw new TypeError(`the name of a session must be a text of 1 to ${MAX_NAME_CHARS} characters`);
}
