import { SandgateError } from "../../base/thrown.ts";

/**
 * Thrown if a suspended program must not continue. `message` says why, for the model; `reason` is for
 * programs.
 */
export class SuspensionRefusedError extends SandgateError {
  override readonly name = "SuspensionRefusedError";
  override readonly code = "suspension_refused";
  readonly reason: SuspensionRefusal;

  constructor(reason: SuspensionRefusal) {
    super(TEXTS[reason]);
    this.reason = reason;
  }
}

/** Why a suspended program must not continue. */
export type SuspensionRefusal =
  | "unknown"
  | "taken"
  | "other_call"
  | "other_principal"
  | "unknown_key"
  | "changed"
  | "expired";

const TEXTS: Readonly<Record<SuspensionRefusal, string>> = {
  unknown: "it is not stored",
  taken: "it continued before, or was cancelled",
  other_call: "it belongs to another call",
  other_principal: "it belongs to another principal",
  unknown_key: "it is sealed with a key that is not known here",
  changed: "it was changed, or sealed with another key",
  expired: "it has waited longer than it may",
};
