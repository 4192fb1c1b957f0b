import type { JsonValue } from "../../json/value.ts";

/** What a guest asks for and waits for: the process outside its thread has it. */
export type GuestRequest = ToolRequest | FetchRequest;

/** A call of another tool. */
export interface ToolRequest {
  readonly kind: "call";
  /** The guest's own number for it. It means nothing to the host but where the reply goes. */
  readonly id: number;
  readonly name: string;
  /** The arguments as JSON text. */
  readonly input: string;
}

/** An HTTP request. */
export interface FetchRequest {
  readonly kind: "fetch";
  /** As for a call. */
  readonly id: number;
  readonly method: string;
  readonly url: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string | undefined;
  /** Whether redirects are followed. */
  readonly follow: boolean;
}

/** What became of what a guest asked for, in the driver's form. */
export type GuestResult = { readonly output: JsonValue } | { readonly error: GuestError };

/** Why the guest does not get what it asked for: an error with these properties is thrown in it. */
export interface GuestError {
  readonly code: string;
  readonly message: string;
}

/** Tells a guest what became of a request. */
export type GuestReply = { readonly id: number } & GuestResult;
