import { type BigIntStats, closeSync, fstatSync, lstatSync, mkdtempSync, readdirSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, posix } from "node:path";
import { type FsGrant, isFileGrant } from "../../../policy/grant/fs-grant.ts";
import type { SnapshotPlace } from "../../../workspace/directory-snapshot.ts";
import { type FoundPlace, findProtected } from "../../../workspace/find-protected.ts";
import { type ProtectionGrant, protectionOf } from "../../../workspace/granted-protected.ts";
import { fdPath } from "../../../workspace/paths/fd-path.ts";
import { DirectoryGrantError, openGranted } from "../../../workspace/root.ts";
import type { GrantedFiles, Launched } from "../launcher.ts";
import { checkPlace, openFile } from "../namespaces/granted-mounts.ts";
import type { GrantedPath } from "./launch-plan.ts";
import { nearestPackageFile } from "./package-file.ts";

/** Entries of a protected directory, such as `.git/hooks`, that are compared. */
const MAX_ENTRIES = 1_000;

/** The granted directories and files of a call, which its program uses at their own paths, and its temporary directory. */
export class GrantedPaths implements GrantedFiles {
  /** Only the program uses it. Removed after the call. */
  readonly temporary: string = mkdtempSync(join(tmpdir(), "sandgate-tmp-"));
  /** The program that uses them. */
  launched: Launched | undefined;
  readonly #places: SnapshotPlace[] = [];
  readonly #paths: GrantedPath[] = [];
  readonly #fds: number[] = [];
  readonly #writable: { readonly fd: number; readonly grant: ProtectionGrant; readonly before: States }[] =
    [];
  #workingDirectory: string | undefined;

  /** @throws {DirectoryGrantError} if one of them cannot be used at its own path. */
  constructor(grants: readonly FsGrant[]) {
    try {
      for (const grant of grants) this.#add(grant, grants.length === 1);
    } catch (error) {
      void this[Symbol.asyncDispose]();
      throw error;
    }
  }

  get places(): readonly SnapshotPlace[] {
    return this.#places;
  }

  get paths(): readonly GrantedPath[] {
    return [...this.#paths, { path: this.temporary, access: "write" }];
  }

  /** The first directory; the temporary one if there is none. */
  get workingDirectory(): string {
    return this.#workingDirectory ?? this.temporary;
  }

  get isWritable(): boolean {
    return this.#paths.some(({ access }) => access === "write");
  }

  get identity(): string {
    return JSON.stringify(this.#paths);
  }

  changedProtectedPlaces(): readonly string[] {
    return this.#writable.flatMap(({ fd, grant, before }) => {
      const after = statesOf(fd, grant);
      const changed = [...after].filter(([path, state]) => before.get(path) !== state);
      const removed = [...before].filter(([path]) => !after.has(path));
      return [...changed, ...removed].map(([path]) => path);
    });
  }

  #add(grant: FsGrant, isOnly: boolean): void {
    const path = isFileGrant(grant) ? grant.file : grant.directory;
    const { at = "/" } = grant;
    if (at !== path && at !== "/")
      throw new DirectoryGrantError(
        `'${path}' cannot be shown at '${at}' without namespaces: it can be used at its own path only`,
      );
    checkPlace(path);
    const fd = isFileGrant(grant) ? openFile(grant) : openGranted(path);
    this.#fds.push(fd);
    const { dev, ino } = fstatSync(fd, { bigint: true });
    this.#paths.push({ path, access: grant.write ? "write" : "read", identity: `${dev}:${ino}` });
    const isDirectory = !isFileGrant(grant);
    const packageFile = nearestPackageFile(isDirectory ? path : dirname(path));
    if (packageFile !== undefined) this.#paths.push(packageFile);
    const shownAs = (below: string): string =>
      isOnly && isDirectory ? below : posix.join(path, below).slice(1);
    if (grant.write) this.#places.push({ fd, isDirectory, shownAs });
    if (!isDirectory) return;
    this.#workingDirectory ??= path;
    if (!grant.write) return;
    const protection = protectionOf(grant);
    this.#writable.push({ fd, grant: protection, before: statesOf(fd, protection) });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const fd of this.#fds.splice(0)) closeSync(fd);
    const { launched } = this;
    // A program that still runs could put links in the way, and something else would be removed.
    if (launched?.hasEnded !== false) await this.#removeTemporary();
    else void launched.exited.then(() => (launched.hasEnded ? this.#removeTemporary() : undefined));
  }

  async #removeTemporary(): Promise<void> {
    // A program can leave directories that its user may not read. They remain.
    await rm(this.temporary, { recursive: true, force: true }).catch(() => {});
  }
}

/** What identifies the contents of protected places, by their paths. */
type States = ReadonlyMap<string, string>;

function statesOf(fd: number, grant: ProtectionGrant): States {
  const states = new Map<string, string>();
  for (const place of findProtected(fd, grant)) {
    if (!place.isBeginning) states.set(place.path, stateOf(place));
    closeSync(place.fd);
  }
  return states;
}

function stateOf({ fd, kind }: FoundPlace): string {
  const state = describe(fstatSync(fd, { bigint: true }));
  if (kind !== "directory") return state;
  const directory = fdPath(fd);
  try {
    const entries = readdirSync(directory).sort().slice(0, MAX_ENTRIES);
    const states = entries.map((name) => describe(lstatSync(join(directory, name), { bigint: true })));
    return [state, ...states].join();
  } catch {
    // The program can have made it unreadable.
    return state;
  }
}

/** A program can set the time of modification, but not that of the last change. */
function describe({ dev, ino, size, ctimeNs }: BigIntStats): string {
  return `${dev}:${ino}:${size}:${ctimeNs}`;
}
