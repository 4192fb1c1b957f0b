import type { EgressResponse } from "../../egress/request.ts";
import type { HeaderField } from "./service-request.ts";

/** Fields that no longer apply once a body is decoded (RFC 9110, section 8.4). */
const CODING_FIELDS: readonly string[] = ["content-encoding", "content-length"];

/** Returns the header fields of a response as a guest sees them: names in lower case, one pair for each field. */
export function responseFields({ headers, body }: EgressResponse): readonly HeaderField[] {
  const isCoded = headers["content-encoding"] !== undefined && body.length > 0;
  return Object.entries(headers).flatMap(([name, value = []]) =>
    isCoded && CODING_FIELDS.includes(name) ? [] : [value].flat().map((one): HeaderField => [name, one]),
  );
}
