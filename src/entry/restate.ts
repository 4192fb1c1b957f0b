export { Ingress, type IngressOptions } from "../restate/connection/ingress.ts";
export { RestateError } from "../restate/connection/restate-error.ts";
export { RestateSessionStore, type RestateSessionStoreOptions } from "../restate/store/session-store.ts";
