import type { DatabaseSync } from "node:sqlite";
import { type Key, RecordError } from "../../record/backend.ts";
import { SqliteBackend } from "../../record/sqlite-backend.ts";
import type { SqliteKind } from "../../record/sqlite-file.ts";
import { callEntry, programEntries, RecordedSuspensionStore, templateEntries } from "./recorded-store.ts";
import { isHeader, type ProgramHeader, SuspensionStoreError } from "./suspension-store.ts";

/** Files of suspended programs, which several processes can have open. */
export const PROGRAMS_FILE: SqliteKind = {
  name: "store of programs",
  // The bytes of `Sgsp`.
  applicationId: 0x53_67_73_70,
  format: 2,
  isExclusive: false,
  convert: entriesOfTables,
};

/**
 * Stores suspended programs in one file, which several processes can have open: a program continues in one of
 * them.
 */
export class SqliteSuspensionStore extends RecordedSuspensionStore {
  /**
   * Opens a file, and creates it if it does not exist. One that an earlier version wrote is converted, with a warning of the process.
   *
   * @param options.readOnly Opens a file that exists, and changes nothing. Default: `false`.
   * @throws {SuspensionStoreError} if it cannot be opened, is corrupt, has a newer format, or is not a store.
   */
  constructor(file: string, { readOnly = false }: { readonly readOnly?: boolean } = {}) {
    super(open(file, readOnly));
  }
}

function open(file: string, isReadOnly: boolean): SqliteBackend {
  try {
    return new SqliteBackend(file, PROGRAMS_FILE, { isReadOnly });
  } catch (error) {
    if (error instanceof RecordError) throw new SuspensionStoreError(error.message, { cause: error });
    throw error;
  }
}

/** Returns the entries of a file that has tables of its own for programs, calls and templates. */
function* entriesOfTables(database: DatabaseSync): Generator<readonly [key: Key, value: unknown]> {
  for (const { digest, bytes } of database.prepare("SELECT digest, bytes FROM templates").iterate()) {
    yield* templateEntries(digest as string, bytes as Uint8Array);
  }
  for (const { waiting, header, sealed } of database
    .prepare("SELECT waiting, header, sealed FROM programs ORDER BY place")
    .iterate()) {
    const read = headerOf(header as string);
    if (read === undefined) continue;
    const state = waiting === 1 ? "waiting" : "taken";
    yield* programEntries({ ...read, state, sealed: sealed as Uint8Array });
  }
  for (const { program, number, digest, sealed } of database
    .prepare("SELECT program, number, digest, sealed FROM calls ORDER BY program, number")
    .iterate()) {
    yield callEntry(program as string, {
      number: number as number,
      digest: digest as string,
      ...(sealed !== null && { sealed: sealed as Uint8Array }),
    });
  }
}

/** Returns `undefined` for what was changed, so that it is not a program. */
function headerOf(text: string): ProgramHeader | undefined {
  try {
    const header = JSON.parse(text) as ProgramHeader;
    return isHeader(header) ? header : undefined;
  } catch {
    return undefined;
  }
}
