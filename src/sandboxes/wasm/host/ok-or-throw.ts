import type { GuestReply } from "../../guest-services/service-request.ts";

/** What was asked for. An error is thrown as what it is for a component: the `err` of a result. */
export function okOrThrow<Value>(reply: GuestReply<Value, object>): Value {
  if ("error" in reply) throw reply.error;
  return reply.ok;
}
