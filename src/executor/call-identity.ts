import { hash } from "node:crypto";
import { canonicalText } from "../json/canonical.ts";
import type { DispatchRequest } from "../remote-protocol/messages.ts";

const MAX_UNDIGESTED_LENGTH = 128;

/** What makes two requests the same call. */
export interface CallIdentity {
  /** Of whom, in which session, with which id. */
  readonly name: string;
  /** Tells its tool and its arguments from others. */
  readonly digest: string;
}

/** @param caller Who asks: a call's id is the caller's own. */
export function identityOf({ call, session }: DispatchRequest, caller: string): CallIdentity {
  // Lengths tell where one part ends and the next one begins.
  const name = `${caller.length} ${session.length} ${caller}${session}${call.id}`;
  const text = JSON.stringify(call.name) + canonicalText(call.arguments);
  // A short text does so itself.
  return { name, digest: text.length <= MAX_UNDIGESTED_LENGTH ? text : hash("sha256", text) };
}
