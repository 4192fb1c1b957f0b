import { FILE_OPERATIONS } from "../../../src/sandboxes/quickjs/thread/file-operations.ts";
import { FORMATTER_METHODS } from "../../../src/sandboxes/quickjs/thread/formatters.ts";
import { MESSAGE_KINDS } from "../../../src/sandboxes/quickjs/thread/guest-message.ts";
import { WEB_OPERATIONS } from "../../../src/sandboxes/quickjs/thread/web-services.ts";

/** Messages whose operations are named one by one. */
const NAMED_ONE_BY_ONE: ReadonlySet<unknown> = new Set(["s", "w"]);

/** Returns a name for everything that the host does for a guest on the guest's values. */
export function hostOperations(): readonly string[] {
  const methods = Object.entries(FORMATTER_METHODS).flatMap(([kind, names]) =>
    names.map((name) => `${kind}.${name}`),
  );
  return [
    ...[...WEB_OPERATIONS.keys()].filter((name) => name !== "intl").map((name) => `web: ${name}`),
    ...["getCanonicalLocales", "resolvedOptions", "supportedLocalesOf", ...methods].map(
      (name) => `intl: ${name}`,
    ),
    ...[...FILE_OPERATIONS.keys()].map((name) => `file: ${name}`),
    ...MESSAGE_KINDS.filter((kind) => !NAMED_ONE_BY_ONE.has(kind)).map((kind) => `message: ${kind}`),
  ].sort();
}
