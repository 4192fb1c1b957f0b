export { Ingress, RestateError } from "../restate/connection/ingress.ts";
export { openRestate, type RestateRuntime } from "../restate/sessions/open-restate.ts";
export type { RestateOptions } from "../restate/sessions/restate-options.ts";
export { RestateSessionStore } from "../restate/store/session-store.ts";
export { RestateSuspensionStore } from "../restate/store/suspension-store.ts";
