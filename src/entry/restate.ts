export { Ingress, type IngressOptions } from "../restate/connection/ingress.ts";
export { RestateError } from "../restate/connection/restate-error.ts";
export { RestateSuspensionStore } from "../restate/programs/suspension-store.ts";
export { RestateSessionStore } from "../restate/store/session-store.ts";
export type { RestateStoreOptions } from "../restate/store/store-options.ts";
