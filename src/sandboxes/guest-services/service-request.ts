/**
 * A request of a guest for something that only the dispatching process can do. Requests and replies are plain data
 * that JSON can express.
 */
export type GuestRequest = ToolRequest | KeyValueRequest | HttpRequest;

/** Calls another tool. */
export interface ToolRequest {
  readonly kind: "call-tool";
  readonly name: string;
  /** The arguments as JSON text. */
  readonly input: string;
  readonly leftMs: number | undefined;
}

/** Uses a key-value store. Values are in base64. */
export type KeyValueRequest = { readonly store: string } & (
  | { readonly kind: "get" | "delete"; readonly key: string }
  | { readonly kind: "set"; readonly key: string; readonly value: string }
  | { readonly kind: "list-keys"; readonly after: string | undefined }
);

/** Sends an HTTP request and waits for the whole response. */
export interface HttpRequest {
  readonly kind: "http";
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  /** Milliseconds until the first byte of the response. */
  readonly firstByteTimeoutMs: number | undefined;
  /** Milliseconds between two chunks of its body. */
  readonly betweenBytesTimeoutMs: number | undefined;
  readonly leftMs: number | undefined;
}

/** What comes back: an error is a value of the interface, for the component. */
export type GuestReply<Value = unknown, Failure = unknown> =
  | { readonly ok: Value }
  | { readonly error: Failure };

/** An error of our own interfaces. */
export interface ServiceError {
  /** In snake case: a code of the engine, or `too_large`, `full` or `unavailable`. */
  readonly code: string;
  readonly message: string;
}

/** A response, whole and decoded. */
export interface HttpReply {
  readonly status: number;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string;
}
