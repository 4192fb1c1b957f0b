import type { InterfaceMembers } from "../interface-members.ts";
import type { BodyBudget } from "./body-budget.ts";
import { Fields } from "./fields.ts";
import { IncomingBody } from "./incoming-response.ts";
import { OutgoingBody } from "./outgoing-body.ts";
import { OutgoingRequest } from "./outgoing-request.ts";
import { RequestOptions } from "./request-options.ts";

/**
 * `wasi:http/types` for who sends requests. Nothing in it reaches out, so it works without a grant; what serves
 * requests is denied. Of resources that only the host makes, a component has no constructor.
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
