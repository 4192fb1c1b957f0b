import { CanonicalJson } from "../../json/canonical.ts";
import type { ReceivedCall } from "./call.ts";

/** Returns the digest by which a call of this tool with these arguments is known. */
export function callDigest({ name, arguments: args }: ReceivedCall): string {
  return new CanonicalJson({ name, arguments: args }).digest;
}
