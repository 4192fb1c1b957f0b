/** A guest's failure as the driver wrote it. Hostile: the guest can make the driver write anything. */
export interface GuestFailure {
  readonly message: string;
  /** Name, message and the guest's stack, for the operator. */
  readonly detail: string;
}

/** Reads the driver's `[name, message, stack]`; whatever it is not, it is a failure without a message. */
export function readFailure(text: string): GuestFailure {
  let parts: unknown;
  try {
    parts = JSON.parse(text);
  } catch {
    parts = [];
  }
  const [name = "", message = "", stack = ""] = (Array.isArray(parts) ? parts : []).map((part) =>
    typeof part === "string" ? part : "",
  );
  return { message, detail: `${name}: ${message}\n${stack}` };
}
