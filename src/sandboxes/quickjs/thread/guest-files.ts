import { takeGuardedFiles } from "../../../base/guarded-files.ts";
import { WorkspaceError } from "../../../workspace/error.ts";
import { type Location, locate } from "../../../workspace/locate.ts";
import { Workspace } from "../../../workspace/workspace.ts";
import type { ServiceError } from "../../guest-services/service-request.ts";
import type { FileAllowance, FileUse } from "./external-access.ts";
import { FILE_OPERATIONS, type FileOperation, FileOperationError } from "./file-operations.ts";
import { isWithinBounds, MAX_PIECE_LENGTH, parseMessage } from "./guest-message.ts";

/** The most files and directories that a call can create: each takes disk space even if it is empty. */
const MAX_CREATED = 10_000;

/** The files of one call, for one step. Its directories are opened at the first request. */
export class GuestFiles {
  readonly #allowance: FileAllowance;
  #workspace: Workspace | undefined;
  #created: number;

  constructor(allowance: FileAllowance) {
    this.#allowance = allowance;
    this.#created = allowance.used.created;
  }

  /**
   * Runs an operation for the guest, and returns the reply to the driver. Never throws.
   *
   * @param text `[operation, path, argument]` as JSON. Untrusted.
   * @param bytes What to write, if it is not the argument's text.
   */
  answer(text: string, bytes: Uint8Array): string | Uint8Array {
    if (!isWithinBounds(text, MAX_PIECE_LENGTH)) {
      return failed({ code: "invalid", message: "the path or the text is too long" });
    }
    const [operation, path, argument] = parseMessage(text);
    const known = FILE_OPERATIONS.get(operation);
    if (known === undefined || typeof path !== "string" || typeof argument !== "string") {
      return failed({ code: "invalid", message: "unknown file operation, or invalid arguments" });
    }
    try {
      const result = this.#do(known, path, bytes.length > 0 ? bytes : argument);
      if (!(result instanceof Uint8Array)) return JSON.stringify({ ok: result ?? null });
      // The engine's library cannot create an empty buffer.
      return result.length === 0 ? '{"ok":""}' : result;
    } catch (error) {
      return failed(describe(`${String(operation)} '${path.slice(0, 256)}'`, error));
    }
  }

  #do(operation: FileOperation, path: string, argument: string | Uint8Array): ReturnType<FileOperation> {
    this.#workspace ??= this.#open();
    const { directories } = this.#workspace;
    const find = (named: string): Location =>
      locate(directories, named.startsWith("/") ? named : `/${named}`);
    return operation(find(path), argument, {
      find,
      leftBytes: this.#leftBytes,
      create: (act) => {
        if (this.#created >= MAX_CREATED) throw new WorkspaceError("insufficient-space");
        const made = act();
        this.#created++;
        return made;
      },
    });
  }

  #open(): Workspace {
    const { grants, guarded, used } = this.#allowance;
    takeGuardedFiles(guarded);
    const workspace = new Workspace(grants, this.#leftBytes);
    if (used.touched !== undefined) workspace.restore(used.touched);
    return workspace;
  }

  get #leftBytes(): number {
    return this.#allowance.fileBytes - this.use.writtenBytes;
  }

  /** Closes the directories. Returns what the call did with files, including earlier steps. */
  close(): FileUse {
    const { used } = this.#allowance;
    const { touched = used.touched, changes = used.changes } = this.#workspace ?? {};
    const hasTouched = touched !== undefined && touched.entries.length > 0;
    const use = { ...this.use, ...(hasTouched && { touched }), ...(changes !== undefined && { changes }) };
    this.#workspace?.[Symbol.dispose]();
    return use;
  }

  /** What the call did with files, including earlier steps, but not with which. */
  get use(): FileUse {
    const { used } = this.#allowance;
    return {
      writtenBytes: used.writtenBytes + (this.#workspace?.writtenBytes ?? 0),
      created: this.#created,
      hasChanged: used.hasChanged || this.#workspace?.hasChanged === true,
    };
  }
}

function describe(what: string, error: unknown): ServiceError {
  if (error instanceof WorkspaceError || error instanceof FileOperationError) {
    return { code: error.code, message: `${what}: ${error.message}` };
  }
  // Messages of other errors may name directories of this host.
  return { code: "io", message: `${what}: a granted directory cannot be used now` };
}

function failed(error: ServiceError): string {
  return JSON.stringify({ error });
}
