import type { SQLInputValue } from "node:sqlite";
import { freezeJson, type JsonValue } from "../../../json/value.ts";
import { SessionStoreError } from "../session-store-error.ts";

/** Returns the text as which a record is kept. */
export function writeRecord(record: object): string {
  return JSON.stringify(record);
}

/**
 * Returns the record that a text has, frozen.
 *
 * @throws {SessionStoreError} if the text is not JSON.
 */
export function readRecord<Record extends object>(text: SQLInputValue | undefined): Record {
  try {
    return freezeJson(JSON.parse(text as string) as JsonValue) as unknown as Record;
  } catch (error) {
    throw new SessionStoreError("the session store has a record that is not JSON", { cause: error });
  }
}
