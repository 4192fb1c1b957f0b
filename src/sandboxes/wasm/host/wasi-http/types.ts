import type { InterfaceMembers } from "../interface-members.ts";
import type { BodyBudget } from "./body-budget.ts";
import { Fields } from "./fields.ts";
import { IncomingBody } from "./incoming-response.ts";
import { OutgoingBody } from "./outgoing-body.ts";
import { OutgoingRequest } from "./outgoing-request.ts";
import { RequestOptions } from "./request-options.ts";

/**
 * Returns `wasi:http/types` for HTTP clients. It does not access the network, so it works without a grant. The parts
 * for servers are denied. Resources that only the host creates have no constructor.
 */
export function httpTypes(budget: BodyBudget): InterfaceMembers {
  return {
    Fields,
    OutgoingRequest: OutgoingRequest.bind(undefined, budget),
    RequestOptions,
    OutgoingBody: { finish: OutgoingBody.finish },
    IncomingBody: { finish: IncomingBody.finish },
    httpErrorCode: () => undefined,
  };
}
