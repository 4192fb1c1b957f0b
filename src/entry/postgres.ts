export { openPostgres } from "../cluster/open-postgres.ts";
