import type { ServiceError } from "../../../guest-services/service-request.ts";
import type { CurrentCall } from "../current-call.ts";
import { type InterfaceMembers, okOrThrow, requireBytes } from "../interface-members.ts";

/** Returns `sandgate:tool/key-value` (`wit/tool.wit`). Access to stores is checked outside the thread. */
export function keyValue(call: () => CurrentCall): InterfaceMembers {
  return {
    get(store: unknown, key: unknown): Uint8Array | undefined {
      const value = okOrThrow(
        call().ask<string | null, ServiceError>({ kind: "get", store: String(store), key: String(key) }),
      );
      return value === null ? undefined : new Uint8Array(Buffer.from(value, "base64"));
    },
    set(store: unknown, key: unknown, value: unknown): void {
      const base64 = Buffer.from(requireBytes(value, "sandgate:tool/key-value")).toString("base64");
      okOrThrow(
        call().ask<null, ServiceError>({
          kind: "set",
          store: String(store),
          key: String(key),
          value: base64,
        }),
      );
    },
    delete(store: unknown, key: unknown): void {
      okOrThrow(call().ask<null, ServiceError>({ kind: "delete", store: String(store), key: String(key) }));
    },
    listKeys(store: unknown, after: unknown): readonly string[] {
      const cursor = after === undefined ? undefined : String(after);
      return okOrThrow(
        call().ask<string[], ServiceError>({ kind: "list-keys", store: String(store), after: cursor }),
      );
    },
  };
}
