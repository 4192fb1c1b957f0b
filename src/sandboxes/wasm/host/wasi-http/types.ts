import type { LiftBudget } from "../../abi/lift-budget.ts";
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
export function httpTypes(budget: BodyBudget, memory: LiftBudget): InterfaceMembers {
  const fromList = Fields.fromList.bind(undefined, memory);
  return {
    Fields: Object.assign(Fields.bind(undefined, memory), { fromList }),
    OutgoingRequest: OutgoingRequest.bind(undefined, budget, memory),
    RequestOptions,
    OutgoingBody: { finish: OutgoingBody.finish },
    IncomingBody: { finish: IncomingBody.finish },
    httpErrorCode: () => undefined,
  };
}
