import { SessionKeys } from "./session-keys.ts";

/**
 * Deletes the key of a session from a journal that may be in use: its sealed arguments can never be read again. The chain
 * of records still holds. A process that has the journal open goes on sealing with the deleted key, so that what it
 * writes cannot be read, either.
 *
 * @returns Whether there was a key.
 */
export function forgetSession(directory: string, sessionId: string): Promise<boolean> {
  return new SessionKeys(directory).forget(sessionId);
}
