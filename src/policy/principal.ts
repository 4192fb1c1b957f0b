import type { JsonObject } from "../json/value.ts";

/** Who makes a call, as it was authenticated; never as it was claimed. */
export interface Principal {
  readonly id: string;
  readonly kind: "user" | "agent" | "service";
  readonly roles?: readonly string[];
  readonly attributes?: JsonObject;
}
