export { RestateError } from "../restate/connection/restate-error.ts";
