export { Ingress, type IngressOptions } from "../restate/connection/ingress.ts";
export { openRestate } from "../restate/sessions/open-restate.ts";
export type { RestateOptions } from "../restate/sessions/restate-options.ts";
export { RestateError } from "../restate/connection/restate-error.ts";
export { RestateSessionStore, type RestateSessionStoreOptions } from "../restate/store/session-store.ts";
