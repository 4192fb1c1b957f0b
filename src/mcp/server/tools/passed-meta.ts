import type { JsonObject } from "../../../json/value.ts";

/** The prefix of members that belong to one connection, such as who the server is. */
const RESERVED = "io.modelcontextprotocol/";

/** `_meta` of an imported server, as it is passed on to clients. */
export function passedMeta(meta: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(meta).filter(([name]) => !name.startsWith(RESERVED)));
}
