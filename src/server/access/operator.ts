import type { Sender } from "../../executor/http/authentication.ts";
import { checkPrincipal } from "../../policy/principal.ts";
import type { Credential } from "./credential.ts";

/** Who logs in to the console with one-time tokens. It must not be a caller. */
export type Operator = Pick<Credential, "id" | "roles" | "approves">;

/** The name of the operator's sender. No other one has it: those of credentials have two words, or are `token`. */
export const OPERATOR_CALLER = "console";

/** @throws {TypeError} if the operator is a caller. */
export function operatorSender({ id, roles }: Operator): Sender {
  if (roles.includes("caller")) throw new TypeError("the operator of the console must not be a caller");
  const principal = checkPrincipal({ id, kind: "user" });
  return { caller: OPERATOR_CALLER, credential: "", principal, isSigned: false };
}
